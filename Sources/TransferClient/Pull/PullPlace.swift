import TransferModel
import TransferPorts
import TransferStore

/// Where a pull goes to.
enum PullPlace: Sendable {
    case directory(PullDirectory)
    /// One that is only looked at; nothing for one that is not there.
    case preview(PullDirectory?)

    func tidy() {
        if case .directory(let directory) = self { directory.tidy() }
    }

    func makeDirectory(_ path: RelativePath) throws(Failure) {
        guard case .directory(let directory) = self else { return }
        try directory.makeDirectory(path)
    }
}
