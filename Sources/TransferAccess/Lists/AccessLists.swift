package import TransferKeys

/// The access lists, wherever they are stored. They contain clients with their keys, and secrets that admit a client or
/// a browser. The server uses them, and so do the commands for access. Synchronous, and safe to call from any thread of
/// a pool.
///
/// An implementation stores the two lists and runs one edit at a time. It makes no decisions: `Authenticator` reads the
/// entries, and `admit`, `issue`, `enrol` and other extensions of this protocol change them.
package protocol AccessLists: Sendable {
    /// The present list of clients that are admitted by their keys. The server reads it before each upload, so reading
    /// must be cheap if the list has not changed.
    ///
    /// An edit through this object is visible as soon as `edit` has returned. An edit by another server or command is
    /// visible at once, or within a second if the implementation has to wait for a notification.
    var keys: CurrentList<AuthorizedKey> { get }

    /// Tokens, pairing codes, links and sessions, with the same rules as for `keys`.
    var tokens: CurrentList<AccessToken> { get }

    /// Changes lists. Edits of all servers and commands are made one after another.
    ///
    /// When this returns, the changes survive a crash. A change that survives an earlier crash does so together with
    /// all that `body` made before it. If `body` throws, its changes may or may not remain. `keys` and `tokens` do not
    /// wait for an edit, so `body` may read them.
    ///
    /// - Throws: the error of `body`, or a sentence for the operator.
    func edit<Result>(_ body: (any AccessEditing) throws(AccessFault) -> Result) throws(AccessFault) -> Result
}

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

/// The lists during one edit. Must not be used after the edit.
package protocol AccessEditing {
    /// Changes the list of keys, unless `body` throws.
    ///
    /// - Throws: the error of `body`, or a sentence if the list is unreadable; such a list is not changed.
    func change<Result>(
        keys body: (inout AuthorizedKeys) throws(AccessFault) -> Result
    ) throws(AccessFault) -> Result

    /// Changes the list of tokens, unless `body` throws.
    func change<Result>(
        tokens body: (inout AccessTokens) throws(AccessFault) -> Result
    ) throws(AccessFault) -> Result
}

/// A list, as it was when it was read.
package struct CurrentList<Entry: AccessEntry>: Sendable {
    /// The list's name for the operator.
    package let name: String

    /// The entries. Empty if the list cannot be read; all clients in the list are then refused.
    package let list: AccessList<Entry>

    /// A number that grows when the list changes.
    package let revision: Int

    /// A sentence with the reason why the list cannot be read; nil if it can be read.
    package let fault: AccessFault?

    /// Makes a list without entries.
    package init(_ name: String) { self.init(name, AccessList(), revision: 0) }

    package init(_ name: String, _ list: AccessList<Entry>, revision: Int, fault: AccessFault? = nil) {
        (self.name, self.list, self.revision, self.fault) = (name, list, revision, fault)
    }

    /// Whether the whole list could be read.
    package var isComplete: Bool { fault == nil && list.faults.isEmpty }

    /// Sentences for the log, about the lines that are ignored, or about the whole list.
    package var sentences: [String] {
        if let fault { return [fault.message] }
        return list.faults.map { "Line \($0.line) of '\(name)' admits no client: \($0.message)." }
    }

    /// The entries, unless the list cannot be read.
    ///
    /// - Throws: the reason why the list cannot be read.
    package func get() throws(AccessFault) -> AccessList<Entry> {
        if let fault { throw fault }
        return list
    }
}
