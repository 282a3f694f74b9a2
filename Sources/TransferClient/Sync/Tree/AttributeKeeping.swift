import TransferModel

/// What the side that is changed makes of the attributes that it is given. What it cannot keep is no difference.
struct AttributeKeeping: Sendable {
    /// Whether files get the owners of the other side.
    let owners: Bool

    /// What it leaves its own user, whatever permissions it is given.
    let rights: OwnerRights

    /// - Parameter permissions: 0 to 0o777, those of both sides.
    func differ(_ permissions: (wanted: UInt16, there: UInt16), isFolder: Bool) -> Bool {
        permissions.wanted != permissions.there
            && rights.added(to: permissions.wanted, isFolder: isFolder) != permissions.there
    }
}
