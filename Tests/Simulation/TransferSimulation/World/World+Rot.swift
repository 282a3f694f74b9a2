import TransferCatalog
import TransferIntake
import TransferModel
import TransferPorts

/// Files that the disk has damaged, and the knowledge of the server about them.
extension World {
    /// Whether a session is about to record an upload that it has found or stored. The record says that the file is
    /// intact.
    var isRecordDue: Bool {
        (sessions.compactMap(\.self) + ghosts).contains { $0.intake.pipeline.isWaiting }
    }

    /// A program beside the server reads every file and compares it with the catalog, as `transfer verify` does
    /// (`Scrub.conclude`). The disk may have damaged a file just before.
    func scrub(_ step: Step) throws {
        if step.b % 2 == 0, mix.store.isOnDisk { try rot(step) }
        guard busy == nil, !disk.isDead, intake != nil, !isRecordDue else { return }
        try records.beside { owners in
            for path in disk.medium.seenPaths.keys.sorted() {
                guard let version = disk.medium.version(at: path), let content = disk.medium.seen(at: path),
                    let entry = try owners.find(path, version), let recorded = entry.digest
                else { continue }
                let isIntact = SimulatedGround.digest(of: content, recorded.algorithm.function) == recorded
                let isChanged = entry.size != version.size || !(entry.version?.hasSameRevision(as: version) ?? true)
                guard !isIntact else {
                    try owners.removeRotten(version)
                    continue
                }
                guard !isChanged else { continue }
                trace.add(path)
                done.insert(.scrub)
                try owners.add(rotten: RottenFile(version: version, digest: recorded))
                noteKnownRot(path)
            }
        }
    }

    /// Records that the server knows a file to be rotten.
    func noteKnownRot(_ path: String) {
        guard let object = disk.medium.object(at: path), let content = disk.medium.seen(of: object) else { return }
        knownRot[object] = content
        for (name, other) in disk.medium.seenPaths where other == object && rotten[name] == false {
            rotten[name] = true
        }
    }

    /// No client may receive the answer that content is stored if the server knows that the content is lost, under any
    /// name of the file.
    func checkRot(_ path: String, _ index: Int) throws(Promises.Broken) {
        guard let object = disk.medium.object(at: path), let content = knownRot[object],
            disk.medium.seen(of: object) == content
        else { return }
        throw Promises.Broken("upload \(index) is said to be stored under \(path), which is known to be rotten")
    }

    /// Checks that the server knows a rotten file, once it was reported, under each of the names of the file.
    func checkRot() throws(Promises.Broken) {
        guard !knownRot.isEmpty, !disk.isDead, busy == nil else { return }
        knownRot = knownRot.filter { disk.medium.seen(of: $0.key) == $0.value }
        // After a change that the server could not record, or whose outcome it does not know, the catalog has the file
        // under another name.
        guard !knownRot.isEmpty, !records.hasFailed, !records.hasNotes else { return }
        let paths = disk.medium.seenPaths.merging(disk.medium.trashedPaths) { first, _ in first }
        for (path, object) in paths.sorted(by: { $0.key < $1.key }) where knownRot[object] != nil {
            // The server says nothing about a name that the catalog does not know, or knows for another version: the
            // time of the file may have been set under another name.
            guard let version = disk.medium.version(at: path), records.knows(path, version),
                !records.isRotten(version)
            else { continue }
            throw Promises.Broken("\(path) was found rotten, and counts as well")
        }
    }
}
