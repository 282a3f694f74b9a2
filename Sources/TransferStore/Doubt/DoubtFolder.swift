import Glibc
import TransferSystem

/// Where doubt is kept that outlives the process: the server's own folder, or for files that are fetched the folder of their
/// parts, which is only made when there is something to keep.
enum DoubtFolder: Sendable {
    /// One that is there, and that no other process uses.
    case own(DirectoryHandle)
    /// One that may be missing, and that other processes of this user use at the same time.
    case shared(PrivateFolder)

    var isShared: Bool { if case .shared = self { true } else { false } }

    /// - Returns: nil where it is missing.
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
