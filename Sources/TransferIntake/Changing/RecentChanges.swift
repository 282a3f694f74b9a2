import Synchronization
import TransferCatalog
import TransferModel
import TransferSystem

/// The last changes that this server has made to stored files, in the order in which it made them. An upload whose file is changed
/// between its publication and its record is recorded as it is by then (`Intake.record`).
final class RecentChanges: Sendable {
    /// What has become of a file since a moment.
    struct Course: Equatable {
        /// Where it is; the path that it had where it was not moved.
        var place: RelativePath

        /// Times of modification that this server has given it, as versions have them.
        var revisions: Set<Int64> = []

        /// Names that it has got beside its own.
        var links: [RelativePath] = []
    }

    private struct Change {
        let number: Int
        let form: IntendedChange.Form
        let path: RelativePath
        let target: RelativePath
        let revision: Int64?
    }

    /// Changes that are kept. A publication is recorded within milliseconds.
    private static let capacity = 256

    private let last = Locked<[Change]>([])
    private let count = Atomic(0)
    private let moved = Atomic(0)

    /// Grows with each change. Ask for it before a publication, and compare behind its record.
    var moment: Int { count.load(ordering: .acquiring) }

    /// Grows with each change that gives something another path.
    var moves: Int { moved.load(ordering: .acquiring) }

    /// To be called when the change was made, before the catalog is told of it.
    func add(_ change: IntendedChange) {
        guard let path = RelativePath(stored: change.path), let target = RelativePath(stored: change.target) else {
            return
        }
        last.withLock { changes in
            let number = count.load(ordering: .relaxed)
            changes.append(
                Change(number: number, form: change.form, path: path, target: target, revision: change.revision))
            if changes.count > Self.capacity { changes.removeFirst(changes.count - Self.capacity) }
            count.store(number &+ 1, ordering: .releasing)
            if [.move, .keep, .folder].contains(change.form) { moved.wrappingAdd(1, ordering: .releasing) }
        }
    }

    /// What has become of the file that had a path at a moment.
    ///
    /// - Returns: nil where no change is about it.
    func course(of path: RelativePath, since moment: Int) -> Course? {
        last.withLock { changes in
            var course = Course(place: path)
            // What is kept no longer may have been about it.
            var isMet = (changes.first?.number ?? 0) > moment
            for change in changes where change.number >= moment {
                if change.target == course.place || change.path == course.place { isMet = true }
                switch change.form {
                case .move, .keep, .folder:
                    guard let place = Self.place(of: course.place, behind: change) else { continue }
                    (course.place, isMet) = (place, true)
                case .link where change.path == course.place:
                    course.links.append(change.target)
                    if let revision = change.revision { course.revisions.insert(revision) }
                case .attributes where change.path == course.place:
                    if let revision = change.revision { course.revisions.insert(revision) }
                case .link, .attributes, .replacement: continue
                }
            }
            return isMet ? course : nil
        }
    }

    /// - Returns: nil where a move does not take it along.
    private static func place(of path: RelativePath, behind move: Change) -> RelativePath? {
        if path == move.path { return move.target }
        return path.below(move.path).flatMap { RelativePath(stored: "\(move.target.string)/\($0.string)") }
    }
}
