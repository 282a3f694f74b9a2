import Glibc
import TransferAccess
import TransferTestSupport

extension AccessFolder {
    /// The lists of a server that stores in `store` there. Makes both.
    static func made(in directory: TemporaryDirectory) throws -> AccessFolder {
        _ = mkdir(directory.path("store"), 0o755)
        let folder = AccessFolder(of: directory.path("store"))
        try folder.make()
        return folder
    }
}
