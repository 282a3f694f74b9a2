internal import CLinux
import Glibc
package import TransferModel
import TransferPorts
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
        try checkVersion(found.map { ContentVersion($0) })
    }
}

extension PublicationCondition {
    /// - Parameter found: what has the path; nil if nothing has it.
    /// - Throws: `conditionFails`, also for links and special files.
    func check(_ found: stat?) throws(Failure) {
        let attributes = found.flatMap { StoredAttributes($0) }
        guard attributes != nil || found == nil else { throw .conditionFails }
        try check(attributes)
    }
}

extension ComparedFile {
    /// - Parameter found: what has the name; where nothing has, nothing can be lost.
    /// - Throws: `sourceChanged` when it is something else by now.
    func check(_ found: stat?, _ path: RelativePath) throws(Failure) {
        try check(
            found.map { ContentVersion($0) }, isFolder: found?.isDirectory ?? false,
            hasOtherNames: found.map { $0.st_nlink > 1 } ?? false, path)
    }
}
