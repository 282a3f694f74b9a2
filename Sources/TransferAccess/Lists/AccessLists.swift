/// The lists of who may come in, wherever they are kept: clients with their keys, and the secrets that let a client or a browser in.
/// The server and the commands about access ask for them. Synchronous, and safe to call from any thread of a pool.
///
/// A store keeps two lists and runs one edit at a time. It decides nothing: `Authenticator` reads the entries, and `admit`, `issue`,
/// `enrol` and the others that extend this protocol change them.
package protocol AccessLists: Sendable {
    /// The clients that are let in by their keys, as they are now. The server asks before each upload, so the answer has to be cheap if
    /// the list has not changed.
    ///
    /// An edit through this store shows as soon as it has returned. An edit by another server or command shows at once, or within a
    /// second if the store has to wait for word of it.
    var keys: CurrentList<AuthorizedKey> { get }

    /// Tokens, pairing codes, links and sessions, in the same way.
    var tokens: CurrentList<AccessToken> { get }

    /// Changes lists. The edits of all servers and commands run one after another.
    ///
    /// The changes survive a crash once this returns, and one of them never without those that `body` made before it. If `body` throws,
    /// they may stay or not. `keys` and `tokens` do not wait for an edit: `body` itself may ask for them.
    ///
    /// - Throws: what `body` does, or a sentence for the operator.
    func edit<Result>(_ body: (any AccessEditing) throws(AccessFault) -> Result) throws(AccessFault) -> Result
}

/// The lists during one edit, and no longer.
package protocol AccessEditing {
    /// Changes the list of keys, unless `body` throws.
    ///
    /// - Throws: what `body` does, or a sentence: a list that cannot be read is not changed.
    func change<Result>(
        keys body: (inout AuthorizedKeys) throws(AccessFault) -> Result
    ) throws(AccessFault) -> Result

    /// Changes the list of tokens in the same way.
    func change<Result>(
        tokens body: (inout AccessTokens) throws(AccessFault) -> Result
    ) throws(AccessFault) -> Result
}

/// A list as it was when it was asked for.
package struct CurrentList<Entry: AccessEntry>: Sendable {
    /// The name by which the operator knows it.
    package let name: String

    /// Empty if the list cannot be read: then all of its clients are refused.
    package let list: AccessList<Entry>

    /// A number that grows when the list changes.
    package let revision: Int

    /// Why it cannot be read, in a sentence.
    package let fault: AccessFault?

    /// A list without entries.
    package init(_ name: String) { self.init(name, AccessList(), revision: 0) }

    package init(_ name: String, _ list: AccessList<Entry>, revision: Int, fault: AccessFault? = nil) {
        (self.name, self.list, self.revision, self.fault) = (name, list, revision, fault)
    }

    /// Whether all of it could be read.
    package var isComplete: Bool { fault == nil && list.faults.isEmpty }

    /// Sentences for the log: about lines that are ignored because of a fault, or about the whole list.
    package var sentences: [String] {
        if let fault { return [fault.message] }
        return list.faults.map { "Line \($0.line) of '\(name)' admits nobody: \($0.message)." }
    }

    /// The list.
    ///
    /// - Throws: why it cannot be read.
    package func get() throws(AccessFault) -> AccessList<Entry> {
        if let fault { throw fault }
        return list
    }
}
