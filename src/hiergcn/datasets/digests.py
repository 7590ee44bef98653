"""SHA-256 digests of the published files, so that a damaged or exchanged file is noticed before it is opened.

Every pickle has a digest here except `ally` of NELL, whose original is not available. The npz graphs hold plain arrays.
"""

import hashlib
from pathlib import Path

from hiergcn.errors import InputError

SHA256: dict[str, str] = {
    "ind.citeseer.allx": "2ac30345d95c9ec933a817ee0bdd6a5f077f8c184a20e696910192d534414668",
    "ind.citeseer.ally": "f704b2d986dde6c2669934de1f3ae5696a6cf9455c0f6b2646a2d135ea0a1c95",
    "ind.citeseer.graph": "d79a4ef9d3e7169aee8946145f6b7306e35bc79bffad26346cfb94e10e9912a7",
    "ind.citeseer.test.index": "2af990671580b6b2df5d158d1038f8292e30c9cd821b5453f399659b25b723d4",
    "ind.citeseer.tx": "539a8906a2da97628d212f2fdd668c109a8b3f0d36574b59e5d3fd5b5303da21",
    "ind.citeseer.ty": "55e5bd1ba1e733a04598753ad1a8d57957f4b8f89e74519f41f4f4938767e4ce",
    "ind.citeseer.x": "d20de19150741e555de0ed037195630fc194114ebc7fd72ced62810148aa22f6",
    "ind.citeseer.y": "8ba87e515d8e3ee3cf52f6d2c5b86aa73f11ecad825a808455209ec26cd54924",
    "ind.pubmed.allx": "508e538e2abdccdd54c4d3e9f49d638b4af7107d85845f66ddea5a5152658b7e",
    "ind.pubmed.ally": "0c37bbe3b5014ec365e9d393cf4791925e5ed94fb194305d74f064a8d7b50f0e",
    "ind.pubmed.graph": "5b89f0036ca22909471f1e6558eb42fa06e0c730a577bde5b058b40638f81dc9",
    "ind.pubmed.test.index": "b101d421688bbaecbd82e8a18f1e282378d6830f3a37666f28ebc47f844341b5",
    "ind.pubmed.tx": "4eb5f5d0f30f26497eb0ac6ac9719d09c67e284f1ed0385c93f3ef27a671da3d",
    "ind.pubmed.ty": "ee2e0d4819d9fbcc403689c3bf2e49face401b605932f093bc58ab6461130fdd",
    "ind.pubmed.x": "fbe9cb5c47200d1b7769a26e579be3b7130b556831f9d850e77c4c74f2599b33",
    "ind.pubmed.y": "e6c807633307a07ed659249006536a147c7999c797f11a2560752990181b41b3",
    "ind.nell.0.001.allx": "092de8541bfd3a6a9a5364ea73224e08c3b0605033c69dc926f26004a3e93681",
    "ind.nell.0.001.graph": "865faeed5d7037fb21122844ec09292b9c8b59710dcf2dc126cc13069a70365b",
    "ind.nell.0.001.test.index": "c546df8c960fc961b75d9566a1431c16d9a064725effdcd70a615ec0a31fe907",
    "ind.nell.0.001.tx": "93016916f57043f6402d9c15654328dbda143f8adcf2b1afd2638caff76808bf",
    "ind.nell.0.001.ty": "07a2a8a95063e14b05592322362011993ce95e7ddb87c8246ebd57607768a5c5",
    "ind.nell.0.001.x": "284de725538a6703f3b26ac8f252dc1c43a2fd0df46e78a618a2391a0c9ed63a",
    "ind.nell.0.001.y": "88926c6959052cffd51f1d4218b11c35403c0c43f21a52489fbec4676a6a205e",
    "recovered_labels.npz": "dd2efefa7373ab2c05aeca82038eddc77f31562c3e2a2a3ad6462eaf02e997a8",
}


def check_digest(path: Path) -> None:
    """Refuse a file whose digest is not the published one; files without a published digest pass."""
    mistake = wrong_digest(path.name, path.read_bytes())
    if mistake:
        raise InputError(f"{path} is damaged or another file: {mistake}. Delete it or put the original there.")


def wrong_digest(name: str, content: bytes) -> str | None:
    """Return what differs from the published file; None if nothing does or no digest is known."""
    found = hashlib.sha256(content).hexdigest()
    expected = SHA256.get(name, found)
    return None if found == expected else f"its SHA-256 begins with {found[:12]}, not with {expected[:12]}"
