internal import CLinux
import Glibc

/// Exchanges the files at two paths in one step (renameat2(2), RENAME_EXCHANGE).
///
/// - Returns: false if the file system cannot exchange names, or if one of the paths does not exist.
@discardableResult
package func exchangeNames(_ a: String, _ b: String) -> Bool {
    clinux_renameat2(AT_FDCWD, a, AT_FDCWD, b, 1 << 1) == 0
}
