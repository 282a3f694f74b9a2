import Glibc
import TransferModel
import TransferPorts
import TransferSystem

/// Where what gives way to a batch of changes is kept, as it was decided before anything was noted. Belongs to one task at a time.
final class KeptPlaces {
    private enum State {
        /// There was nothing.
        case free
        /// It cannot be kept.
        case impossible(stat)
        case kept(ReplacedFiles.Keeping)
        case failed(Failure)
        case replaced(KeptFile?)
    }

    private let tree: DirectoryTree
    private let incoming: Incoming
    private let files: ReplacedFiles
    private var states: [RelativePath: State] = [:]
    private let failures: Int

    init(_ tree: DirectoryTree, _ incoming: Incoming, _ quota: Quota?) {
        (self.tree, self.incoming) = (tree, incoming)
        files = ReplacedFiles(tree, incoming, quota)
        failures = incoming.committer.failures
    }

    /// Gives all of it a name in the trash, durably and with one sync. What cannot be kept there is replaced all the same; what fails
    /// otherwise keeps it from being replaced.
    func keep(_ places: [TrashPlace]) {
        for place in places {
            do throws(Failure) {
                states[place.path] = try keep(place)
            } catch {
                states[place.path] = .failed(error)
            }
        }
        do throws(Failure) {
            try files.settle(since: failures)
        } catch {
            for place in places { states[place.path] = .failed(error) }
        }
    }

    private func keep(_ place: TrashPlace) throws(Failure) -> State {
        guard let parent = try? tree.open(place.path.parent),
            let found = try attempt(
                "look at \(place.path)", { () throws(SystemError) in try parent.status(String(place.path.name)) })
        else { return .free }
        let keeping = try files.keep(
            place.path, found, in: parent, at: place.target, place.batch, since: failures)
        return keeping.map { .kept($0) } ?? .impossible(found)
    }

    /// The kept file; nil where no file has given way, or where it could not be kept.
    func kept(at path: RelativePath) -> KeptFile? {
        if case .replaced(let kept)? = states[path] { kept } else { nil }
    }

    /// Takes the name in the trash away again, after a change of that path that was not made.
    func undo(_ path: RelativePath) {
        guard case .kept(let keeping)? = states.removeValue(forKey: path) else { return }
        files.undo(keeping)
    }

    /// Takes away what was made in the trash and is not needed.
    ///
    /// - Returns: files that had a name there for a while, and have their paths still.
    func close() -> [TouchedFile] { files.close() }
}

extension KeptPlaces {
    /// Makes durable what was moved to the trash because it could not be linked.
    func settle(since failures: Int) throws(Failure) { try files.settle(since: failures) }

    /// Replaces something. To be called with the lock that keeps away others who do.
    ///
    /// - Parameters:
    ///   - found: what has the path.
    ///   - replace: gives the path to something else.
    /// - Returns: whether the file was moved to the trash. A file that was linked there lost one of two names.
    /// - Throws: `busy` for another one than was kept, and what `replace` throws.
    func replace(
        _ found: stat, at path: RelativePath, in parent: DirectoryHandle, since failures: Int,
        _ replace: () throws(Failure) -> Void
    ) throws(Failure) -> Bool {
        let keeping: ReplacedFiles.Keeping
        switch states[path] {
        case nil:
            try replace()
            return false
        case .failed(let error): throw error
        case .replaced, .free: throw .isReplaced(path)
        case .impossible(let other):
            guard ContentVersion(other) == ContentVersion(found) else { throw .isReplaced(path) }
            try replace()
            return false
        case .kept(let known): keeping = known
        }
        guard keeping.before.isSame(as: found) else { throw .isReplaced(path) }
        let name = String(path.name)
        try files.move(keeping, from: parent, name, since: failures)
        do throws(Failure) {
            try replace()
        } catch {
            files.moveBack(keeping, to: parent, name)
            throw error
        }
        states[path] = .replaced(files.use(keeping, since: failures))
        return !keeping.isLinked
    }
}
