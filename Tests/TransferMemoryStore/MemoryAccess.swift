package import TransferAccess
import TransferSystem

/// Access lists in memory. The changes of one edit take effect at one moment, or not at all if the edit fails.
package final class MemoryAccess: AccessLists {
    private struct State: Sendable {
        var keys = CurrentList<AuthorizedKey>("keys")
        var tokens = CurrentList<AccessToken>("tokens")
    }

    private let state = Locked(State())
    /// Held by one edit at a time, so that edits do not mix.
    private let editing = Locked(())

    package init() {}

    package var keys: CurrentList<AuthorizedKey> { state.withLock { $0.keys } }
    package var tokens: CurrentList<AccessToken> { state.withLock { $0.tokens } }

    package func edit<Result>(
        _ body: (any AccessEditing) throws(AccessFault) -> Result
    ) throws(AccessFault) -> Result {
        var result: Result?
        try editing.withLock { (_) throws(AccessFault) in
            let draft = Draft(keys: keys.list, tokens: tokens.list)
            result = try body(draft)
            state.withLock { state in
                state.keys = state.keys.replaced(by: draft.keys)
                state.tokens = state.tokens.replaced(by: draft.tokens)
            }
        }
        guard let result else { preconditionFailure("an edit without a result") }
        return result
    }

    /// The lists with the changes that one edit has made so far.
    private final class Draft: AccessEditing {
        var keys: AuthorizedKeys
        var tokens: AccessTokens

        init(keys: AuthorizedKeys, tokens: AccessTokens) { (self.keys, self.tokens) = (keys, tokens) }

        func change<Result>(
            keys body: (inout AuthorizedKeys) throws(AccessFault) -> Result
        ) throws(AccessFault) -> Result {
            var changed = keys
            let result = try body(&changed)
            keys = changed
            return result
        }

        func change<Result>(
            tokens body: (inout AccessTokens) throws(AccessFault) -> Result
        ) throws(AccessFault) -> Result {
            var changed = tokens
            let result = try body(&changed)
            tokens = changed
            return result
        }
    }
}

extension CurrentList {
    /// The list with other entries, as a new revision; this list if the content is the same.
    fileprivate func replaced(by list: AccessList<Entry>) -> CurrentList {
        list.content == self.list.content ? self : CurrentList(name, list, revision: revision + 1)
    }
}
