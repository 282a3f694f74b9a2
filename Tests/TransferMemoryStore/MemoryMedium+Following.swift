package import TransferModel
import TransferPorts
import TransferSystem

/// What a test sees that follows a medium from one moment to the next.
package struct MemoryLook: Sendable {
    /// What has become of names since the last look, in order.
    package let changes: [MemoryTree.NameChange]

    package let tree: MemoryTree

    /// The bytes of uploads that are not complete.
    package let parts: [UploadID: PagedBytes]

    /// Uploads that grow, also where their bytes are published by now.
    package let appends: [UploadID]
}

extension MemoryMedium {
    /// Keeps what becomes of names from now on, for `look`.
    ///
    /// - Parameter between: is called before each publication and before changes are made durable, without a lock.
    package func follow(between: @escaping @Sendable () -> Void) {
        state.withLock { $0.tree.follow() }
        self.between.withLock { $0 = between }
    }

    func letOthersIn() { between.withLock(\.self)?() }

    /// Another number after each change, of one medium.
    package var moment: Int64 {
        inspect { state in
            let parts = state.parts.values.reduce(0) { $0 &+ $1.unfinished.written }
            return state.appends.values.reduce(parts &+ state.tree.lastMoment) { $0 &+ $1.written }
        }
    }

    package func look() -> MemoryLook {
        inspect { state in
            MemoryLook(
                changes: state.tree.takeChanges(), tree: state.tree, parts: state.parts.mapValues(\.bytes),
                appends: Array(state.appends.keys))
        }
    }

    /// The medium as the next server finds it if the process of this one ends now. What that process still does takes no effect there.
    package func left() -> MemoryMedium {
        let next = MemoryMedium(clock: clock)
        var state = inspect { $0 }
        (state.isServed, state.parts) = (false, state.parts.mapValues { $0.copy() })
        next.state.withLock { $0 = state }
        return next
    }

    /// What is there, without that which is being published.
    private func inspect<T>(_ body: (inout State) -> T) -> T {
        let found = before.withLock { before -> T? in
            guard var state = before else { return nil }
            defer { before = state }
            return body(&state)
        }
        return found ?? state.withLock { body(&$0) }
    }

    /// The power fails: what was published stays, and of uploads that grow what was kept. Nothing is left of others.
    package func losePower() {
        state.withLock { state in
            let parts = state.parts
            state.parts = [:]
            for (id, append) in state.appends {
                state.appends[id]?.noted = append.kept
                guard let part = parts[id] else { continue }
                part.change { $0.truncate(to: append.kept.offset) }
                state.parts[id] = part
            }
        }
    }
}
