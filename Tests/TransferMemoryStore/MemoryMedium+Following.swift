package import TransferModel
import TransferPorts
import TransferSystem

/// What a test that follows a medium sees: the state at one moment, and the changes of names since the last look.
package struct MemoryLook: Sendable {
    /// Changes of names since the last look, in order.
    package let changes: [MemoryTree.NameChange]

    package let tree: MemoryTree

    /// The bytes of unfinished uploads.
    package let parts: [UploadID: PagedBytes]

    /// Append uploads, including those whose bytes are published already.
    package let appends: [UploadID]
}

extension MemoryMedium {
    /// Records changes of names from now on, for `look`.
    ///
    /// - Parameter between: called before each publication and before changes are made durable, while no lock is held.
    package func follow(between: @escaping @Sendable () -> Void) {
        state.withLock { $0.tree.follow() }
        self.between.withLock { $0 = between }
    }

    func letOthersIn() { between.withLock(\.self)?() }

    /// A number that is different after each change of the medium.
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

    /// A copy of the medium as the next server finds it if the process of this server ends now. Later changes by this
    /// process do not affect the copy.
    package func left() -> MemoryMedium {
        let next = MemoryMedium(clock: clock)
        var state = inspect { $0 }
        (state.isServed, state.parts) = (false, state.parts.mapValues { $0.copy() })
        next.state.withLock { $0 = state }
        return next
    }

    /// Inspects the state, without the publication that is in progress.
    private func inspect<T>(_ body: (inout State) -> T) -> T {
        let found = before.withLock { before -> T? in
            guard var state = before else { return nil }
            defer { before = state }
            return body(&state)
        }
        return found ?? state.withLock { body(&$0) }
    }

    /// Simulates a power cut. Published files stay, and append uploads up to their durable marks. All other unfinished
    /// uploads are lost.
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
