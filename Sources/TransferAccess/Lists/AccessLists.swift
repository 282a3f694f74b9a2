/// The access lists, wherever they are stored: clients with their keys, and secrets that admit a client or a browser.
/// The server and the commands for access use them. Synchronous, and safe to call from any thread of a pool.
///
/// An implementation stores two lists and runs one edit at a time. It decides nothing: `Authenticator` reads the
/// entries, and `admit`, `issue`, `enrol` and other extensions of this protocol change them.
package protocol AccessLists: Sendable {
    /// The present list of clients admitted by their keys. The server reads it before each upload, so that it must be
    /// cheap if the list has not changed.
    ///
    /// An edit through this object is visible as soon as it has returned; one by another server or command at once, or
    /// within a second if the implementation must wait for a notification.
    var keys: CurrentList<AuthorizedKey> { get }

    /// Tokens, pairing codes, links and sessions, in the same way.
    var tokens: CurrentList<AccessToken> { get }

    /// Changes lists. Edits of all servers and commands run one after another.
    ///
    /// The changes survive a crash once this returns, and each only together with those that `body` made before. If
    /// `body` throws, they may remain or not. `keys` and `tokens` do not wait for an edit, so that `body` may read
    /// them.
    ///
    /// - Throws: errors of `body`, or a sentence for the operator.
    func edit<Result>(_ body: (any AccessEditing) throws(AccessFault) -> Result) throws(AccessFault) -> Result
}

/// The lists during one edit; invalid afterwards.
package protocol AccessEditing {
    /// Changes the list of keys, unless `body` throws.
    ///
    /// - Throws: errors of `body`, or a sentence: an unreadable list is not changed.
    func change<Result>(
        keys body: (inout AuthorizedKeys) throws(AccessFault) -> Result
    ) throws(AccessFault) -> Result

    /// Changes the list of tokens in the same way.
    func change<Result>(
        tokens body: (inout AccessTokens) throws(AccessFault) -> Result
    ) throws(AccessFault) -> Result
}

/// A list as it was when it was read.
package struct CurrentList<Entry: AccessEntry>: Sendable {
    /// The list's name for the operator.
    package let name: String

    /// The entries; empty if the list cannot be read, and then all its clients are refused.
    package let list: AccessList<Entry>

    /// A number that grows when the list changes.
    package let revision: Int

    /// The reason why it cannot be read, as a sentence; nil if it can.
    package let fault: AccessFault?

    /// Makes a list without entries.
    package init(_ name: String) { self.init(name, AccessList(), revision: 0) }

    package init(_ name: String, _ list: AccessList<Entry>, revision: Int, fault: AccessFault? = nil) {
        (self.name, self.list, self.revision, self.fault) = (name, list, revision, fault)
    }

    /// Whether the whole list could be read.
    package var isComplete: Bool { fault == nil && list.faults.isEmpty }

    /// Sentences for the log, about ignored lines or the whole list.
    package var sentences: [String] {
        if let fault { return [fault.message] }
        return list.faults.map { "Line \($0.line) of '\(name)' admits no client: \($0.message)." }
    }

    /// The entries, unless the list cannot be read.
    ///
    /// - Throws: the reason why it cannot be read.
    package func get() throws(AccessFault) -> AccessList<Entry> {
        if let fault { throw fault }
        return list
    }
}
