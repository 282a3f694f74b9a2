import Glibc
package import TransferModel
package import TransferSystem

/// What a file of the directory is known by.
extension ContentVersion {
    package init(_ file: FileIdentity) {
        self.init(object: file.inode, revision: file.modified, touch: file.changed, size: file.size)
    }

    init(_ status: stat) { self.init(FileIdentity(status)) }

    /// - Parameter descriptor: of the file, open.
    init(of descriptor: Int32) throws(SystemError) { self.init(try FileIdentity(of: descriptor)) }
}

extension Publication {
    /// - Parameter found: what has the path; where nothing has, nothing can be lost.
    /// - Throws: `pathConflict` when it is another version than the client has seen.
    func checkVersion(_ found: stat?) throws(Failure) {
        guard let replaceable, let found, ContentVersion(found).told != replaceable else { return }
        throw .isNotSeen(path)
    }
}

extension PublicationCondition {
    /// - Parameter found: what has the path; nil if nothing has it.
    /// - Throws: `conditionFails`, also for links and special files.
    func check(_ found: stat?) throws(Failure) {
        let attributes = found.flatMap(StoredAttributes.init)
        guard attributes != nil || found == nil else { throw .conditionFails }
        try check(attributes)
    }
}
