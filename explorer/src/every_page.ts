// The script of pages without an explorer.

import { wirePage } from "./wire_page";

wirePage();
