internal import CLinux
import Glibc
package import TransferModel

/// A file as it was when somebody compared it, and decided what is done with it.
package struct ComparedFile: Sendable {
    package let version: ContentVersion

    /// Whether its names come and go meanwhile, which changes the file as a change of its content does. Then its size and its time of
    /// modification alone have to be the same.
    package let namesMayChange: Bool

    package init(_ version: ContentVersion, namesMayChange: Bool = false) {
        (self.version, self.namesMayChange) = (version, namesMayChange)
    }

    /// - Throws: `sourceChanged` when it is another one by now.
    func check(_ found: stat, _ path: RelativePath) throws(StoreError) {
        let now = ContentVersion(found)
        if now == version { return }
        guard namesMayChange || found.st_nlink > 1, now.hasSameContent(as: version) else {
            throw StoreError(
                .sourceChanged, "\(path) has changed since it was compared; it is left, and the next sync looks again.")
        }
    }
}
