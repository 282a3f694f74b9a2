import TransferIntake
import TransferModel
import TransferPorts
import TransferStore

/// Checks of the medium after every step.
extension World {
    /// - Throws: `Promises.Broken`.
    func check() throws {
        try noteNames()
        if let damage = records.damage { throw Promises.Broken("the catalog was found damaged: \(damage)") }
        if disk.hasUsedClosed { throw Promises.Broken("a descriptor is used that is closed") }
        if disk.hasSyncedUnmarked { throw Promises.Broken("something is synced, and no mark says so") }
        try checkDoubt()
        try checkTrash()
        try checkRoom()
        try checkRot()
        try checkGuest()
        if !disk.isDead { forgetVerified() }
        guard checked?.medium != disk.medium.version || checked?.promises != promises.version else { return }
        try promises.check(disk.medium) { contents[$0] }
        if let path = disk.medium.halfWritten {
            throw Promises.Broken("a power cut may leave half of an upload at \(path)")
        }
        if let name = disk.medium.lostPart {
            throw Promises.Broken("the part \(name) can be gone on with, and a sync of it has failed")
        }
        checked = (disk.medium.version, promises.version)
    }

    /// After a failed sync the server must be in doubt.
    private func checkDoubt() throws {
        guard disk.medium.hasFailedSync, !disk.isDead, let store, !store.isInDoubt else { return }
        throw Promises.Broken("a sync has failed, and the server does not doubt")
    }

    /// The quota must count all stored and sealed bytes.
    private func checkRoom() throws {
        guard let quota = store?.quota, !isMiscounted, !disk.hasKeptSomething, !disk.isDead, busy == nil else { return }
        let sealed = (sessions.compactMap(\.self) + ghosts).flatMap(\.sealed).map(\.upload)
        let held = sealed.reduce(0) { $0 + (uploads[$1].isInParts ? 0 : contents[uploads[$1].content].count) }
        let there =
            disk.medium.seenBytes + disk.medium.partBytes + disk.medium.mailBytes + held
        guard quota.used >= UInt64(there) else {
            throw Promises.Broken("\(quota.used) bytes are counted, and \(there) are there")
        }
    }

    /// Ends all connections and restarts the server: its count of bytes must match that of the server before. A
    /// starting server counts parts by their pages.
    func rest() throws {
        everybodyLeaves()
        // Content that is being received counts with its declared size.
        intake?.multiparts.letGo(desertedUpTo: .max)
        try check()
        let used = store?.quota?.used
        strayBytes += orphanBytes
        let (stray, isMiscounted) = (strayBytes, isMiscounted || disk.hasKeptSomething || disk.isDead)
        let (parts, inParts) = (disk.medium.parts.count, disk.medium.bytesOfParts)
        try restart()
        guard !isMiscounted, !hasLinked, let used, let store, let now = store.quota?.used else { return }
        // Parts that a start removes because no client can continue them were counted until then.
        let counted = Int(used) - stray - max(0, inParts - disk.medium.bytesOfParts)
        guard abs(counted - Int(now)) <= parts * Limits.blockSize.roundedUpToPage else {
            throw Promises.Broken("\(counted) bytes were counted, and \(now) are there")
        }
    }
}

extension Int {
    /// Size in whole pages, as a file system in memory counts it.
    fileprivate var roundedUpToPage: Int { (self + 4095) / 4096 * 4096 }
}
