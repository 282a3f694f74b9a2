package import TransferKeys

/// Access lists as operators manage them, beside a server that may be running.
package protocol ManagedAccess: AccessLists {
    /// Makes the lists of a server that was never started, if it can have clients already.
    ///
    /// - Throws: a sentence if this is not the place of a server's lists.
    func make() throws(AccessFault)

    /// - Throws: a sentence if no server has used the lists.
    func requireUsed() throws(AccessFault)

    /// Stores the fingerprint of the key that the server shows to clients. With a certificate it differs from the key of the server's
    /// identity, and links must contain the shown key.
    func keep(shownKey key: KeyFingerprint) throws(AccessFault)

    /// The fingerprint that a server stored at its latest start.
    ///
    /// - Returns: nil if no server has stored one.
    func shownKey() throws(AccessFault) -> KeyFingerprint?
}

extension AccessFolder: ManagedAccess {}
