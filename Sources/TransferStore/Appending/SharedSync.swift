import TransferModel
import TransferPorts
import TransferSystem

/// Syncs the bytes of several append uploads together: requests that come during a sync share the next one, so many
/// uploads at once cost as few syncs as commits do.
final class SharedSync: Sendable {
    /// What one upload needs to have on disk.
    struct Request {
        let files: [any SyncableFile & Sendable]
        let bytes: UInt64
        /// The number of failed syncs before its first byte was written.
        let failures: Int
    }

    private struct State {
        var waiting: [(ticket: Int, request: Request)] = []
        var errors: [Int: SystemError?] = [:]
        var next = 0
        var isRunning = false
    }

    private let committer: Committer
    private let monitor = Monitor(State())

    init(_ committer: Committer) {
        self.committer = committer
    }

    /// Returns when the request's bytes are durable.
    func run(_ request: Request) throws(SystemError) {
        monitor.lock()
        let ticket = monitor.state.next
        monitor.state.next += 1
        monitor.state.waiting.append((ticket, request))
        var outcome = monitor.state.errors.removeValue(forKey: ticket)
        while outcome == nil {
            if monitor.state.isRunning { monitor.wait() } else { lead() }
            outcome = monitor.state.errors.removeValue(forKey: ticket)
        }
        monitor.unlock()
        if case .some(.some(let error)) = outcome { throw error }
    }

    /// Syncs for all callers that wait by now. The lock is held before and after.
    private func lead() {
        let batch = monitor.state.waiting
        monitor.state.waiting = []
        monitor.state.isRunning = true
        monitor.unlock()
        let errors = committer.commit(
            batch.flatMap { $0.request.files as [any SyncableFile] },
            bytes: batch.reduce(0) { $0.addingClamped($1.request.bytes) },
            since: batch.map(\.request.failures).min() ?? 0)
        monitor.lock()
        var rest = errors[...]
        for (ticket, request) in batch {
            let own = rest.prefix(request.files.count)
            rest = rest.dropFirst(request.files.count)
            monitor.state.errors[ticket] = .some(own.lazy.compactMap(\.self).first)
        }
        monitor.state.isRunning = false
        monitor.wakeAll()
    }
}
