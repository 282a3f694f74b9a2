import Glibc
import TransferModel
import TransferPorts
import TransferSystem

/// The places in the trash for what a batch of changes replaces, as they were decided before anything was noted.
/// Belongs to one task at a time.
final class KeptPlaces {
    private enum State {
        /// No file, folder or link had the path.
        case free
        /// The file cannot be kept.
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

    /// Links the files into the trash, durably and with one sync. A file that the trash cannot take (it is on another
    /// file system, or its name is too long there) is replaced anyway; a file whose link or sync fails is not replaced.
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

    /// The kept file; nil if no file was replaced, or if it could not be kept.
    func kept(at path: RelativePath) -> KeptFile? {
        if case .replaced(let kept)? = states[path] { kept } else { nil }
    }

    /// Removes the name in the trash again, because the change of that path was not made.
    func undo(_ path: RelativePath) {
        guard case .kept(let keeping)? = states.removeValue(forKey: path) else { return }
        files.undo(keeping)
    }

    /// Removes unneeded names from the trash.
    ///
    /// - Returns: files that had a name in the trash for a while and still have their paths.
    func close() -> [TouchedFile] { files.close() }
}

extension KeptPlaces {
    /// Syncs the names of files that were moved to the trash because they could not be linked.
    func settle(since failures: Int) throws(Failure) { try files.settle(since: failures) }

    /// Replaces a file or link. Called with the lock for replacements held.
    ///
    /// - Parameters:
    ///   - found: the file or link at the path.
    ///   - replace: gives the path to the new entry.
    /// - Returns: whether the file was moved to the trash; false if it was linked there and lost one of two names.
    /// - Throws: `busy` if it is not the file that was kept, and the errors of `replace`.
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
