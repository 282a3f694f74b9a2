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
