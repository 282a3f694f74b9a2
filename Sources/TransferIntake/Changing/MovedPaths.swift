import Synchronization
import TransferCatalog
import TransferModel
import TransferSystem

/// What this server has moved, the last of it, in the order in which it was: an upload whose file was moved between its
/// publication and its record is looked for there.
final class MovedPaths: Sendable {
    /// Moves that are kept.
    private static let capacity = 256

    private let last = Locked<[(number: Int, path: RelativePath, target: RelativePath?)]>([])
    private let count = Atomic(0)

    /// Grows with each move. To be asked before what is published, and behind its record.
    var moment: Int { count.load(ordering: .acquiring) }

    /// To be called when it was made, before the catalog is told.
    func add(_ change: IntendedChange) {
        guard change.form != .attributes, change.form != .link, let path = RelativePath(stored: change.path) else {
            return
        }
        let target = change.form == .replacement ? nil : RelativePath(stored: change.target)
        last.withLock { moves in
            let number = count.load(ordering: .relaxed)
            moves.append((number, path, target))
            if moves.count > Self.capacity { moves.removeFirst(moves.count - Self.capacity) }
            count.store(number &+ 1, ordering: .releasing)
        }
    }

    /// Where something is that had a path at a moment.
    ///
    /// - Returns: nothing where no move has to do with it.
    func place(of path: RelativePath, since moment: Int) -> RelativePath? {
        last.withLock { moves in
            var (place, isMet) = (path, (moves.first?.number ?? 0) > moment)
            for move in moves where move.number >= moment {
                if move.target == place { isMet = true }
                let rest = place.below(move.path)
                guard rest != nil || move.path == place else { continue }
                isMet = true
                guard let target = move.target else { continue }
                place = rest.flatMap { RelativePath(stored: "\(target.string)/\($0.string)") } ?? target
            }
            return isMet ? place : nil
        }
    }
}
