/// Owner permissions that every stored file and folder gets in addition to the requested ones. Permissions restrict a
/// process that is not root: without these bits it could not read, list or remove what it has stored.
package struct OwnerRights: Equatable, Sendable {
    /// Bits added to every file, out of 0o700.
    package let file: UInt16

    /// Bits added to every folder, out of 0o700.
    package let folder: UInt16

    /// Adds no bits: root may read and write everything.
    package static let none = OwnerRights(file: 0, folder: 0)

    /// The bits for a server, so that acknowledged files can be fetched by name, and other files stored beside them.
    ///
    /// - Parameter isRoot: whether the server has root's privileges.
    package static func serving(isRoot: Bool) -> OwnerRights {
        isRoot ? .none : OwnerRights(file: 0o400, folder: 0o700)
    }

    /// The bits for a directory to which a client fetches files, so that the next pull or sync can read it.
    ///
    /// - Parameter isRoot: whether the client has root's privileges.
    package static func fetching(isRoot: Bool) -> OwnerRights {
        isRoot ? .none : OwnerRights(file: 0o400, folder: 0o500)
    }

    /// Returns the permissions with the added bits.
    ///
    /// - Parameter permissions: 0 to 0o777; other bits are dropped.
    package func added(to permissions: UInt16, isFolder: Bool) -> UInt16 {
        permissions & 0o777 | (isFolder ? folder : file)
    }
}
