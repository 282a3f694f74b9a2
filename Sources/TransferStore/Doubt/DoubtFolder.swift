import Glibc
import TransferSystem

/// Keeps the doubt about names beyond the end of the process: in the server's own folder or, for fetched files, in the
/// folder of their parts, which is created only when there is something to keep.
enum DoubtFolder: Sendable {
    /// An existing folder that no other process uses.
    case own(DirectoryHandle)
    /// A folder that may be missing, and that other processes of this user use at the same time.
    case shared(PrivateFolder)

    var isShared: Bool { if case .shared = self { true } else { false } }

    /// - Returns: nil if it is missing.
    func openIfThere() throws(SystemError) -> DirectoryHandle? {
        switch self {
        case .own(let folder): folder
        case .shared(let folder): try folder.openIfThere()
        }
    }

    func openOrMake() throws(SystemError) -> DirectoryHandle {
        switch self {
        case .own(let folder): folder
        case .shared(let folder): try folder.openOrMake()
        }
    }
}
