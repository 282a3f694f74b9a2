package import TransferAccess
import TransferCatalog
import TransferDatabase
package import TransferMail
import TransferModel
package import TransferStore
import TransferSystem

/// What the clients with a quota have stored. One that is not asked for is not counted.
package final class CallerQuotas: Sendable {
    private let known: KnownUploads
    private let store: any ContentStore
    private let mailroom: Mailroom?
    private let quotas = Locked([Grant.Source: (client: KnownCaller, quota: Quota)]())

    init(_ known: KnownUploads, _ store: any ContentStore, _ mailroom: Mailroom?) {
        (self.known, self.store, self.mailroom) = (known, store, mailroom)
    }

    /// - Returns: nothing for a client without one.
    package func quota(for grant: Grant) -> Quota? {
        guard let limit = grant.options.quota else { return nil }
        let quota = quotas.withLock { quotas in
            if let known = quotas[grant.source] { return known.quota }
            let client = KnownCaller(grant)
            let made = make(limit, client)
            quotas[grant.source] = (client, made)
            return made
        }
        quota.change(limit: limit)
        return quota
    }

    /// Gives back what removed files took, to those who had sent them. To be called before the catalog forgets them.
    package func removed(_ files: [Removal.File]) {
        let quotas = quotas.withLock { Array($0.values) }
        guard !quotas.isEmpty else { return }
        for (file, entries) in zip(files, known.entries(at: files.map(\.path.string))) where file.isLast {
            guard let entry = entries.first(where: { $0.version?.hasSameContent(as: file.version) ?? false }) else {
                continue
            }
            for (client, quota) in quotas where client.hasSent(entry) { quota.removed(entry.size) }
        }
    }

    /// Gives back what was for somebody and is not needed any more.
    package func removed(_ mails: [Mail]) {
        let quotas = quotas.withLock { Array($0.values) }
        for mail in mails {
            for (client, quota) in quotas where client.hasSent(mail) { quota.removed(mail.size) }
        }
    }

    private func make(_ limit: UInt64, _ client: KnownCaller) -> Quota {
        Quota(limit: limit) { limit, room in
            "This client may store \(limit) bytes on the server, and of these \(room) are left: files of its have to be "
                + "removed there, or its quota raised."
        } count: { [known, store, mailroom] parts in
            Self.count(client, parts, known, store, mailroom)
        }
    }

    /// What the catalog says that the client has sent, as far as it is still there as it was.
    ///
    /// - Parameter parts: that count already.
    /// - Returns: nothing where the catalog cannot say.
    private static func count(
        _ client: KnownCaller, _ parts: [UploadID], _ known: KnownUploads, _ store: any ContentStore,
        _ mailroom: Mailroom?
    ) -> Quota.Count? {
        var count = Quota.Count(stored: 0, parts: [:])
        var paths: Set<RelativePath> = []
        for id in parts + known.unfinished(of: client).map(\.id) { count.parts?[id] = store.part(id)?.size }
        let isComplete = known.forEachEntry(from: client) { entry in
            guard let path = RelativePath(stored: entry.path), let version = store.version(at: path),
                entry.version?.hasSameContent(as: version) ?? false, paths.insert(path).inserted
            else { return }
            count.stored = count.stored.addingClamped(entry.size)
        }
        do throws(DatabaseError) {
            // A ledger that cannot be opened takes nothing that could count.
            if let id = client.id, let mailroom, mailroom.isOpen {
                count.stored = count.stored.addingClamped(try mailroom.ledger.openBytes(of: id))
            }
        } catch {
            return nil
        }
        return isComplete ? count : nil
    }
}
