import Synchronization
import TransferIntake
import TransferModel
import TransferPorts
import TransferStore

/// Files that give way to an upload or a change. They are in the trash from then on, until a client removes or restores
/// them, or until they give way to content that needs their space.
extension World {
    /// Checks a name that has changed: a file that has lost its name to another object must have a name in the trash
    /// before.
    ///
    /// - Parameter later: names that have changed after this one.
    /// - Returns: whether the name is in the trash and needs no other check.
    func noteKeeping(
        _ naming: SimulatedDisk.Naming, before later: ArraySlice<SimulatedDisk.Naming>
    ) throws(Promises.Broken) -> Bool {
        guard Medium.isInTrash(naming.path) else {
            try checkKept(naming, before: later)
            return false
        }
        guard naming.moves.isEmpty, !naming.isRenamed else { return false }
        if let object = naming.object {
            guard disk.medium.seen(of: object) != nil || disk.medium.isLink(object) else { return false }
            keptLinks[object, default: []].insert(naming.path)
            // A file that has given way in the trash leaves its name to a file that is kept later.
            for (path, gone) in lostFromTrash where path == naming.path { promises.removed(path, gone) }
            noteOrigin(of: naming.path)
            // A client may restore the file from the trash, even if a server died before the file gave way, and
            // whichever program wrote it.
            if let content = disk.medium.seen(of: object).flatMap(number) {
                promises.kept(content, at: naming.path, isPromised: false)
            }
            return true
        }
        guard let gone = naming.replacedObject, disk.medium.seen(of: gone) != nil else { return false }
        if keptLinks[gone]?.remove(naming.path) != nil { lostWhileKept.insert(gone) }
        // Two connections were about to replace the file, and one of them has replaced it.
        if let other = placeKept(of: gone), promises.paths[naming.path]?.isPromised ?? false, isDurable(other) {
            promises.kept(from: naming.path, at: other)
            return false
        }
        // A removal by a client has ended the promise before.
        let isMoving = promises.movings.contains { $0.places.last == naming.path }
        if isMoving || promises.paths[naming.path]?.isPromised ?? false { lostFromTrash.append((naming.path, gone)) }
        // The catalog knew the file only in the trash. When the file has given way there, the catalog need not know it
        // at any path.
        if promises.known[gone]?.path == naming.path { promises.known[gone] = nil }
        return false
    }

    /// Changes of a file by other programs, and damage by the disk, also apply under the name of the file in the trash.
    private func noteOrigin(of place: String) {
        let origin = place.split(separator: "/").dropFirst(3).joined(separator: "/")
        (rotten[place], touched[place]) = (rotten[origin], touched[origin])
        foreign[place, default: []].formUnion(foreign[origin] ?? [])
    }

    /// Path in the trash that a file has in addition to its own name.
    private func placeKept(of object: Medium.Object) -> String? {
        (keptLinks[object] ?? []).sorted().last { disk.medium.object(at: $0) == object }
    }

    /// Whether a power cut leaves a file at its path.
    private func isDurable(_ path: String) -> Bool {
        disk.medium.possibilities(at: path).allSatisfy { if case .content = $0 { true } else { false } }
    }

    private func checkKept(
        _ naming: SimulatedDisk.Naming, before later: ArraySlice<SimulatedDisk.Naming>
    ) throws(Promises.Broken) {
        guard mix.keepsReplaced, let object = naming.object, let old = naming.replacedObject, old != object,
            let seen = disk.medium.seen(of: old)
        else { return }
        // The server does not examine a file twice if it seems to have the acknowledged content.
        guard rotten[naming.path] == nil, let content = number(of: seen), !disk.medium.isForeign(old) else { return }
        // A file that is replaced by the same content need not be kept, and may have a name in the trash that is not
        // durable.
        let isOther = disk.medium.seen(of: object) != seen
        // A kept file may give way at once if its client has no room for it.
        let goes = { (place: String) in later.contains { $0.path == place && $0.replacedObject == old } }
        if let place = placeKept(of: old) ?? keptLinks[old]?.sorted().last(where: goes) {
            done.insert(.keep)
            kept += 1
            return promises.kept(content, at: place, isPromised: isOther)
        }
        // If another client needs the room meanwhile, the name in the trash gives way before the file has lost its own
        // name.
        let hasGivenWay = givenWay.isRaised && lostWhileKept.contains(old)
        // The server does not keep files of another disk.
        guard !isOther || hasGivenWay || disk.medium.away.contains(old) else {
            throw Promises.Broken("\(naming.path) has given way, and is not kept")
        }
    }

    /// Whether no upload of a session replaces a file, or the trash is known to be durable. If neither holds, the session
    /// would wait for the connection that makes the trash.
    func mayKeep(_ session: Session) -> Bool {
        guard mix.keepsReplaced, !durableDirectories.contains(Medium.trash) else { return true }
        return session.sealed.allSatisfy { uploads[$0.upload].conflict != .overwrite }
    }

    /// Checks that files which left the trash without a request have given way because their room was needed.
    func checkTrash() throws(Promises.Broken) {
        let hasGivenWay = givenWay.lower()
        defer { (lostFromTrash, lostWhileKept) = ([], []) }
        if hasGivenWay { done.insert(.giveWay) }
        for (path, gone) in lostFromTrash where disk.medium.object(at: path) != gone {
            guard hasGivenWay || disk.isDead else {
                throw Promises.Broken("\(path) is gone from the trash, and has given way to nothing")
            }
            if disk.medium.object(at: path) == nil { promises.removed(path, gone) }
        }
    }
}

/// A flag that any thread may raise.
final class SharedFlag: Sendable {
    private let isUp = Atomic(false)

    var isRaised: Bool { isUp.load(ordering: .relaxed) }

    func raise() { isUp.store(true, ordering: .relaxed) }

    /// - Returns: whether the flag was raised.
    func lower() -> Bool { isUp.exchange(false, ordering: .relaxed) }
}
