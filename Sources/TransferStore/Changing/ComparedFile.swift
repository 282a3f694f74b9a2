internal import CLinux
import Glibc
package import TransferModel

/// What had a name when somebody compared it, and decided what is done about it.
package struct ComparedFile: Sendable {
    /// Of a file or link; nothing where nothing had the name.
    package let version: ContentVersion?

    /// Whether its names come and go meanwhile, which changes the file as a change of its content does. Then its size and its time of
    /// modification alone have to be the same.
    package let namesMayChange: Bool

    /// Nothing had the name.
    package static let nothing = ComparedFile(nil)

    package init(_ version: ContentVersion?, namesMayChange: Bool = false) {
        (self.version, self.namesMayChange) = (version, namesMayChange)
    }

    /// - Parameter found: what has the name; where nothing has, nothing can be lost.
    /// - Throws: `sourceChanged` when it is something else by now.
    func check(_ found: stat?, _ path: RelativePath) throws(StoreError) {
        guard let found else { return }
        let now = ContentVersion(found)
        if now == version { return }
        guard let version, namesMayChange || found.st_nlink > 1, now.hasSameContent(as: version) else {
            throw .changed(path)
        }
    }
}
