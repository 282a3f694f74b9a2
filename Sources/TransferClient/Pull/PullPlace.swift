import TransferModel
import TransferPorts
import TransferStore

/// The destination of a pull.
enum PullPlace: Sendable {
    case directory(PullDirectory)
    /// A directory that a preview only reads; nil if it does not exist.
    case preview(PullDirectory?)

    func tidy() {
        if case .directory(let directory) = self { directory.tidy() }
    }

    func makeDirectory(_ path: RelativePath) throws(Failure) {
        guard case .directory(let directory) = self else { return }
        try directory.makeDirectory(path)
    }
}
