import TransferModel

/// How the changed side stores attributes. A difference in what it cannot keep does not count.
struct AttributeKeeping: Sendable {
    /// Whether files get the owners of the other side.
    let owners: Bool

    /// Permissions that the changed side always grants its own user, whatever permissions are set.
    let rights: OwnerRights

    /// - Parameter permissions: those of both sides, 0 to 0o777.
    func differ(_ permissions: (wanted: UInt16, there: UInt16), isFolder: Bool) -> Bool {
        permissions.wanted != permissions.there
            && rights.added(to: permissions.wanted, isFolder: isFolder) != permissions.there
    }
}
