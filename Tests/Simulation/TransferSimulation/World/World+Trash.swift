import Synchronization
import TransferIntake
import TransferModel
import TransferPorts
import TransferStore

/// What gives way to an upload or a change, and is in the trash from then on: until somebody removes it there, brings it back, or it
/// gives way to what needs its room.
extension World {
    /// Looks at a name that has changed: what has lost it to something else must have one in the trash before.
    ///
    /// - Parameter later: names that have changed behind it.
    /// - Returns: whether it is a name in the trash, which nothing else is to be said of.
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
            // What has given way leaves its name to what is kept behind it.
            for (path, gone) in lostFromTrash where path == naming.path { promises.removed(path, gone) }
            noteOrigin(of: naming.path)
            // It may be restored from here, also where a server died before the file gave way, and whoever made the file.
            if let content = disk.medium.seen(of: object).flatMap(number) {
                promises.kept(content, at: naming.path, isPromised: false)
            }
            return true
        }
        guard let gone = naming.replacedObject, disk.medium.seen(of: gone) != nil else { return false }
        if keptLinks[gone]?.remove(naming.path) != nil { lostWhileKept.insert(gone) }
        // Of two who were about to replace it, one has.
        if let other = placeKept(of: gone), promises.paths[naming.path]?.isPromised ?? false, isDurable(other) {
            promises.kept(from: naming.path, at: other)
            return false
        }
        // Somebody who removes it has said so before.
        let isMoving = promises.movings.contains { $0.places.last == naming.path }
        if isMoving || promises.paths[naming.path]?.isPromised ?? false { lostFromTrash.append((naming.path, gone)) }
        // What has given way there is known under no name that it has still: the catalog knew it in the trash.
        if promises.known[gone]?.path == naming.path { promises.known[gone] = nil }
        return false
    }

    /// What others have done to a file, or the disk has lost of it, is so under its name in the trash as well.
    private func noteOrigin(of place: String) {
        let origin = place.split(separator: "/").dropFirst(3).joined(separator: "/")
        (rotten[place], touched[place]) = (rotten[origin], touched[origin])
        foreign[place, default: []].formUnion(foreign[origin] ?? [])
    }

    /// A place in the trash that a file has beside its own name.
    private func placeKept(of object: Medium.Object) -> String? {
        (keptLinks[object] ?? []).sorted().last { disk.medium.object(at: $0) == object }
    }

    /// Whether a power cut leaves a file where it is.
    private func isDurable(_ path: String) -> Bool {
        disk.medium.possibilities(at: path).allSatisfy { if case .content = $0 { true } else { false } }
    }

    private func checkKept(
        _ naming: SimulatedDisk.Naming, before later: ArraySlice<SimulatedDisk.Naming>
    ) throws(Promises.Broken) {
        guard mix.keepsReplaced, let object = naming.object, let old = naming.replacedObject, old != object,
            let seen = disk.medium.seen(of: old)
        else { return }
        // Where a file seems to be what was acknowledged it is not looked at twice.
        guard rotten[naming.path] == nil, let content = number(of: seen), !disk.medium.isForeign(old) else { return }
        // What comes once more need not be kept, and may have a name in the trash that is not durable.
        let isOther = disk.medium.seen(of: object) != seen
        // What is kept may give way at once, where its client has no room for it.
        let goes = { (place: String) in later.contains { $0.path == place && $0.replacedObject == old } }
        if let place = placeKept(of: old) ?? keptLinks[old]?.sorted().last(where: goes) {
            done.insert(.keep)
            kept += 1
            return promises.kept(content, at: place, isPromised: isOther)
        }
        // What another client needs room for in between gives way before the file has lost its own name.
        let hasGivenWay = givenWay.isRaised && lostWhileKept.contains(old)
        // Nothing on another disk is kept.
        guard !isOther || hasGivenWay || disk.medium.away.contains(old) else {
            throw Promises.Broken("\(naming.path) has given way, and is not kept")
        }
    }

    /// Whether nothing of a session replaces anything, or the trash is known to be durable: otherwise it would wait for whoever makes it.
    func mayKeep(_ session: Session) -> Bool {
        guard mix.keepsReplaced, !durableDirectories.contains(Medium.trash) else { return true }
        return session.sealed.allSatisfy { uploads[$0.upload].conflict != .overwrite }
    }

    /// What is gone from the trash without anybody having asked for that has given way, where room was needed.
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

/// Set by whoever hears of something, from any thread.
final class SharedFlag: Sendable {
    private let isUp = Atomic(false)

    var isRaised: Bool { isUp.load(ordering: .relaxed) }

    func raise() { isUp.store(true, ordering: .relaxed) }

    /// - Returns: whether it was up.
    func lower() -> Bool { isUp.exchange(false, ordering: .relaxed) }
}
