internal import CLinux
import Glibc

/// Lets two paths change places, in one step (renameat2(2), RENAME_EXCHANGE).
///
/// - Returns: false where the file system cannot, or one of them is missing.
@discardableResult
package func exchangeNames(_ a: String, _ b: String) -> Bool {
    clinux_renameat2(AT_FDCWD, a, AT_FDCWD, b, 1 << 1) == 0
}
