import TransferCodec
import TransferIntake
import TransferModel
import TransferPorts
import TransferStore
import TransferTestSupport

/// Copies of stored files, which the server makes without receiving the content again.
extension World {
    /// Copies a file for a client, as `FileCopy` of the server does: the copy gets its name as an upload does, and then
    /// its entry in the catalog.
    func copyStored(_ step: Step) throws {
        guard busy == nil, let session = session(step.a), let intake, let store, !disk.isDead else { return }
        let paths = disk.medium.seenPaths.keys.sorted()
        guard let source = paths.randomElement(step.b), let content = disk.medium.seen(at: source),
            let number = number(of: content)
        else { return }
        let target = try RelativePath(mix.names[Int(step.c >> 8) % mix.names.count])
        let caller = session.intake.caller
        copied.insert(number)
        var moment = PublishedMoment(changes: promises.changes)
        var place: RelativePath?
        try letOthersIn(step, session) {
            do throws(Failure) {
                place = try copy(
                    content, to: target, replaces: step.c >> 16 % 2 == 0, for: caller, through: intake, to: store)
            } catch {
                trace.add(Int(error.code.rawValue))
            }
        }
        if !disk.isDead { disk.change { $0.keepLosses() } }
        try noteNames()
        moment.publications = promises.publications
        guard let place, !disk.isDead else { return }
        if options.tells { print("    \(source) was copied to \(place)") }
        durableDirectories.formUnion(Self.parents(of: place.string))
        done.insert(.copy)
        admitForeign(number, at: place.string)
        try promises.acknowledged(number, at: place.string, since: moment.changes, upTo: moment.publications)
    }

    /// - Returns: path of the copy, or of a file with the same content; nil if the present file keeps the name.
    private func copy(
        _ content: [UInt8], to path: RelativePath, replaces: Bool, for caller: Caller, through intake: Intake,
        to store: any ServerStore
    ) throws(Failure) -> RelativePath? {
        let size = UInt64(content.count)
        let staged = try store.stage(
            id: .random(), size: size, filled: nil, permissions: nil, quota: intake.quotas.quota(for: caller.grant))
        try content.span.bytes.withUnsafeBytes { (bytes) throws(Failure) in try staged.write(bytes, at: 0) }
        let digest = SimulatedGround.digest(of: content, .xxh128)
        var publication = Publication(
            staged: staged, id: .random(), path: path, size: size, digest: digest,
            conflict: replaces ? .overwrite : .fail)
        if mix.keepsReplaced { publication.trash = newTrash() }
        return try intake.publish(copy: publication, .file, for: caller, begun: clock.stamp())?.path
    }
}
