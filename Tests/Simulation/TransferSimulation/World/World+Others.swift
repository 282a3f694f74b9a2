import Glibc
import TransferCatalog
import TransferIntake
import TransferModel
import TransferPorts
import TransferTestSupport

extension World {
    /// The client of a connection goes, while its content is still on its way.
    func fade(_ number: UInt32) throws {
        let index = Int(number) % mix.sessions
        guard let session = sessions[index], session !== busy else { return }
        session.fade()
        sessions[index] = nil
        ghosts.append(session)
        if ghosts.count > 3, ghosts[0] !== busy { leave(ghosts.removeFirst()) }
        try noteNames()
    }

    /// Lets the server receive more content of a client that has gone.
    func haunt(_ step: Step) throws {
        guard let session = ghosts.randomElement(step.a), session !== busy else { return }
        isUnheard = true
        defer { isUnheard = false }
        switch step.b % 5 {
        case 0: try append(Int(step.c % 6000) + 1, to: session, isDamaged: step.c >> 16 % 4 == 0)
        case 1:
            try append(.max, to: session, isDamaged: step.c % 4 == 0)
            try end(session)
        case 2:
            try end(session)
            try publish(session)
        case 3: try acknowledge(session)
        default:
            ghosts.removeAll { $0 === session }
            leave(session)
            try noteNames()
        }
    }

    /// Another program changes stored files behind the server's back.
    func change(_ step: Step) throws {
        switch step.b % 8 {
        case 0 where step.c >> 4 % 2 == 0: return try remakeDirectory(step)
        case 0: return try changeDirectories(step)
        case 1: return try copy(step)
        case 2: return try rot(step)
        default: break
        }
        let paths = disk.medium.seenPaths.keys.sorted()
        guard let name = paths.randomElement(step.a) else { return }
        let size = disk.medium.seen(at: name)?.count ?? 0
        // A file with another name, even in the trash, stays beside the new content. When the file is removed later,
        // its removal does not change the count.
        if hasLinked || hasAnotherName(name) { isMiscounted = true }
        rotten[name] = nil
        unlink(path + "/" + name)
        promises.changed(name)
        strayBytes += size
        guard step.b % 2 == 1 else { return disk.change { $0.forget(name) } }
        // The new content is no longer than the old one, so that the server never counts less than the disk has.
        let content = SplitMix64.bytes(seed: UInt64(step.c), min(size, Int(step.b % 50) + 1))
        guard number(of: content) == nil, write(content, to: name) else { return disk.change { $0.forget(name) } }
        note(foreign: content, at: name)
        strayBytes -= content.count
        disk.change { [path] in $0.replace(name, in: path, by: content) }
    }

    private func hasAnotherName(_ name: String) -> Bool {
        var status = stat()
        return lstat("\(path)/\(name)", &status) == 0 && status.st_nlink > 1
    }

    /// Records content that another program has written, or that the disk has damaged.
    func note(foreign content: [UInt8], at name: String) {
        foreign[name, default: []].insert(content)
    }

    private func removeDirectory(_ name: String) {
        for (below, object) in disk.medium.seenPaths where below.hasPrefix(name + "/") {
            promises.changed(below)
            rotten[below] = nil
            // As in `change`, the removal of a file with another name does not change the count. A file that is about to
            // give way has a second name in the trash.
            if hasLinked || hasAnotherName(below) { isMiscounted = true }
            strayBytes += disk.medium.seen(of: object)?.count ?? 0
        }
        disk.change { $0.forget(name) }
        // An upload that was stored beside the directory gets its name if it is sent again.
        promises.noteChange(of: name)
        TemporaryDirectory.remove(path + "/" + name)
        removedDirectories.append(name)
    }

    /// Another program removes a directory with all its content. The server makes the directory again, and another
    /// program makes the directories that were in it.
    private func remakeDirectory(_ step: Step) throws {
        guard let session = session(step.a), session.current == nil, busy == nil else { return }
        if disk.medium.object(at: "e") != nil { removeDirectory("e") }
        for (name, number) in [("e/a", step.b), ("e/f/a", step.b &+ 0x10_0000)] {
            let upload = plan(Step(kind: .begin, a: step.a, b: number, c: step.c ^ number), parts: false)
            (uploads[upload].path, uploads[upload].conflict) = (name, .keepBoth)
            try bring(upload, on: session)
            try publish(session)
            try acknowledge(session)
            guard !disk.isDead, disk.medium.object(at: "e") != nil, disk.medium.object(at: "e/f") == nil,
                mkdir(path + "/e/f", 0o755) == 0
            else { return }
            disk.change { [path] in $0.makeDirectory("e/f", in: path) }
        }
    }

    /// Another program removes a directory with all its content, or makes one without a sync.
    private func changeDirectories(_ step: Step) throws {
        let names = disk.medium.seenDirectories.filter { $0 != Medium.mount || !mix.hasSecondDisk }
        if step.c % 2 == 0, let name = names.randomElement(step.a) { removeDirectory(name) }
        guard step.c >> 1 % 2 == 0 else { return }
        // The server treats a directory that is made again as the old one (`DurableDirectories`).
        let missing = ["d", "e", "e/f", "e/f/g"].filter { name in
            disk.medium.object(at: name) == nil
                && !removedDirectories.contains { name == $0 || name.hasPrefix($0 + "/") }
        }
        guard let name = missing.randomElement(step.a >> 8) else { return }
        if mkdir(path + "/" + name, 0o755) == 0 { disk.change { [path] in $0.makeDirectory(name, in: path) } }
    }

    /// Another program writes the content of an upload to a further path, without a sync.
    private func copy(_ step: Step) throws {
        guard let upload = uploads.randomElement(step.a) else { return }
        let name = step.c % 2 == 0 ? upload.path : mix.names[Int(step.c >> 1) % mix.names.count]
        guard disk.medium.seen(at: name) == nil, write(contents[upload.content], to: name) else { return }
        copied.insert(upload.content)
        isMiscounted = true
        promises.changed(name)
        // The copy may go from this path to the trash, and from the trash to another path.
        note(foreign: contents[upload.content], at: name)
        disk.change { [path, contents] in $0.replace(name, in: path, by: contents[upload.content], synced: false) }
        promises.published(upload.content, at: name)
    }

    private func write(_ content: [UInt8], to name: String) -> Bool {
        let number = open(path + "/" + name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0o644)
        guard number >= 0 else { return false }
        content.withUnsafeBytes { _ = Glibc.write(number, $0.baseAddress, $0.count) }
        close(number)
        return true
    }

    /// The disk loses the content of a file, although no program has changed it. A later step reports the file to the
    /// server.
    func rot(_ step: Step) throws {
        if let name = rotten.keys.sorted().randomElement(step.a), rotten[name] == false {
            rotten[name] = tellRotten(name)
            return
        }
        guard let name = disk.medium.seenPaths.keys.sorted().randomElement(step.a), !disk.medium.isForeign(name),
            var content = disk.medium.seen(at: name), !content.isEmpty
        else { return }
        content[0] ^= 0x55
        guard self.number(of: content) == nil else { return }
        let object = disk.medium.object(at: name)
        let number = open(path + "/" + name, O_WRONLY | O_CLOEXEC)
        guard number >= 0 else { return }
        content.withUnsafeBytes { _ = Glibc.write(number, $0.baseAddress, 1) }
        close(number)
        // All names of the file have lost the content.
        let names = disk.medium.seenPaths.merging(disk.medium.trashedPaths) { a, _ in a }.filter { $0.value == object }
        for name in names.keys.sorted() {
            note(foreign: content, at: name)
            promises.changed(name)
            rotten[name] = false
        }
        // Another file has taken over a name of this file, and a power cut would give the name back.
        for path in promises.paths.keys.sorted() where names[path] == nil {
            if disk.medium.possibleObjects(at: path).contains(object) { promises.lost(at: path) }
        }
        disk.change { $0.rot(name, to: content) }
    }

    /// - Returns: whether the server now knows that the file is rotten.
    private func tellRotten(_ name: String) -> Bool {
        guard let version = disk.medium.version(at: name),
            let entry = records.stored(at: name).last(where: { $0.version == version }),
            let known = entry.digest
        else { return false }
        guard !isRecordDue else { return false }
        records.mend()
        intake?.known.add(rotten: RottenFile(version: version, digest: known))
        noteKnownRot(name)
        return true
    }
}
