internal import CLinux
import Glibc
package import TransferModel
import TransferPorts
package import TransferSystem

/// The version of a file of the directory, made from its status.
extension ContentVersion {
    package init(_ file: FileIdentity) {
        self.init(object: file.inode, revision: file.modified, touch: file.changed, size: file.size)
    }

    init(_ status: stat) { self.init(FileIdentity(status)) }

    /// - Parameter descriptor: a descriptor of the open file.
    init(of descriptor: Int32) throws(SystemError) { self.init(try FileIdentity(of: descriptor)) }
}

extension Publication {
    /// - Parameter found: the entry at the path; nil if the path is free, so that nothing can be lost.
    /// - Throws: `pathConflict` if the entry is not the version that the client has seen.
    func checkVersion(_ found: stat?) throws(Failure) {
        try checkVersion(found.map { ContentVersion($0) })
    }
}

extension PublicationCondition {
    /// - Parameter found: the entry at the path; nil if the path is free.
    /// - Throws: `conditionFails`, also for links and special files.
    func check(_ found: stat?) throws(Failure) {
        let attributes = found.flatMap { StoredAttributes($0) }
        guard attributes != nil || found == nil else { throw .conditionFails }
        try check(attributes)
    }
}

extension ComparedFile {
    /// - Parameter found: the entry at the name; nil if the name is free, so that nothing can be lost.
    /// - Throws: `sourceChanged` if the entry is not the compared one.
    func check(_ found: stat?, _ path: RelativePath) throws(Failure) {
        try check(
            found.map { ContentVersion($0) }, isFolder: found?.isDirectory ?? false,
            hasOtherNames: found.map { $0.st_nlink > 1 } ?? false, path)
    }
}
