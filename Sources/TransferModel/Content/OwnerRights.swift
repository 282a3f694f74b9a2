/// Rights of the owner that what is stored has, whatever it is given. Whoever is not root is bound by permissions himself: without
/// these he could not read, list or remove what he has stored.
package struct OwnerRights: Equatable, Sendable {
    /// Permission bits of every file, of 0o700.
    package let file: UInt16

    /// Permission bits of every folder, of 0o700.
    package let folder: UInt16

    /// Everything is as it is given: root may read and write anything.
    package static let none = OwnerRights(file: 0, folder: 0)

    /// Of a server: what was acknowledged can be fetched under its name, and others can be stored beside it.
    ///
    /// - Parameter isRoot: whether it has root's privileges.
    package static func serving(isRoot: Bool) -> OwnerRights {
        isRoot ? .none : OwnerRights(file: 0o400, folder: 0o700)
    }

    /// Of a directory that a client fetches to: the next pull or sync can look at what is there.
    ///
    /// - Parameter isRoot: whether the client has root's privileges.
    package static func fetching(isRoot: Bool) -> OwnerRights {
        isRoot ? .none : OwnerRights(file: 0o400, folder: 0o500)
    }

    /// What becomes of permissions.
    ///
    /// - Parameter permissions: 0 to 0o777; other bits are dropped.
    package func added(to permissions: UInt16, isFolder: Bool) -> UInt16 {
        permissions & 0o777 | (isFolder ? folder : file)
    }
}
