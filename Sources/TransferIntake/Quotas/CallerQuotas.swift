package import TransferAccess
import TransferMail
import TransferModel
package import TransferPorts
import TransferSystem

/// What the clients with a quota have stored: their bytes, including what files, folders and records cost beside their
/// content (`QuotaPrice`), and their names. A client is counted when its quota is asked for first.
package final class CallerQuotas: Sendable {
    private struct Account {
        let client: KnownCaller
        /// The client's folder, which is not counted.
        let top: RelativePath?
        let made = MadeNames()
        var bytes: Quota?
        var names: Quota?
    }

    private let known: KnownUploads
    private let store: any ContentStore
    private let mailroom: Mailroom?
    private let accounts = Locked([Grant.Source: Account]())
    private let adoption: Adoption
    private let clock: @Sendable () -> Int64
    /// Removes files from the trash when a client needs room.
    let trash = Locked<TrashRoom?>(nil)

    /// - Parameter clock: nanoseconds of a clock that is never set.
    init(
        _ known: KnownUploads, _ store: any ContentStore, _ mailroom: Mailroom?, _ adoption: Adoption,
        clock: @escaping @Sendable () -> Int64
    ) {
        (self.known, self.store, self.mailroom, self.adoption) = (known, store, mailroom, adoption)
        self.clock = clock
    }

    /// The quota for the bytes of a client.
    ///
    /// - Returns: nil for a client without such a limit.
    package func quota(for grant: Grant) -> Quota? { limits(for: grant)?.bytes }

    /// - Returns: nil for a client without limits.
    func limits(for grant: Grant) -> ClientLimits? {
        let options = grant.options
        guard options.quota != nil || options.maximumFiles != nil else { return nil }
        let account = accounts.withLock { accounts in
            var account =
                accounts[grant.source] ?? Account(client: KnownCaller(grant), top: grant.options.folder)
            if let limit = options.quota, account.bytes == nil { account.bytes = bytes(limit, account) }
            if let limit = options.maximumFiles, account.names == nil { account.names = names(limit, account) }
            accounts[grant.source] = account
            return account
        }
        if let limit = options.quota { account.bytes?.change(limit: limit) }
        if let limit = options.maximumFiles { account.names?.change(limit: limit) }
        return ClientLimits(
            bytes: options.quota == nil ? nil : account.bytes,
            names: options.maximumFiles == nil ? nil : account.names)
    }

    private var all: [Account] { accounts.withLock { Array($0.values) } }

    /// Returns the room of removed files to the clients that have sent them. Has to be called before the catalog
    /// forgets the files.
    package func removed(_ files: [RemovedFile]) {
        let accounts = all
        guard !accounts.isEmpty else { return }
        for (file, entries) in zip(files, known.entries(at: files.map(\.path.string))) {
            for account in accounts {
                let own = entries.filter(account.client.hasSent)
                account.bytes?.removed(QuotaPrice.row(file.path.string) * UInt64(own.count))
                guard file.isLast,
                    let entry = entries.first(where: { adoption.counts($0, as: file.version) }),
                    account.client.hasSent(entry)
                else { continue }
                account.bytes?.removed(entry.size.addingClamped(QuotaPrice.name))
                account.names?.removed(1)
            }
        }
    }

    /// Returns the room of mails that are not needed any more.
    package func removed(_ mails: [Mail]) {
        for account in all {
            for mail in mails where account.client.hasSent(mail) {
                account.bytes?.removed(mail.cost)
                account.names?.removed(1)
            }
        }
    }

    private func bytes(_ limit: UInt64, _ account: Account) -> Quota {
        let quota = Quota(limit: limit, clock: clock, isShared: known.isShared) { limit, room in
            "This client's quota of \(limit) bytes on the server has \(room) bytes left: each file and "
                + "folder takes \(QuotaPrice.name) besides its content. Remove files that it has stored, or "
                + "have its quota raised."
        } count: { [weak self] parts in
            guard let use = self?.use(of: account, parts) else { return nil }
            return Quota.Count(stored: use.bytes, parts: use.parts)
        }
        quota.givesWay { [weak self] lacking in self?.giveWay(to: account, lacking, cost: \.price) ?? false }
        return quota
    }

    /// Removes files from the trash that count for a client, because the client needs the room.
    ///
    /// - Parameters:
    ///   - lacking: how many bytes or names are needed.
    ///   - cost: the bytes or names that the removal of a file would free.
    private func giveWay(
        to account: Account, _ lacking: UInt64, cost: (CatalogEntry) -> UInt64
    ) -> Bool {
        trash.withLock { $0 }?.makeRoom(lacking, of: account.client, cost: cost) ?? false
    }

    private func names(_ limit: UInt64, _ account: Account) -> Quota {
        let quota = Quota(limit: limit, clock: clock, isShared: known.isShared) { limit, room in
            "This client's limit of \(limit) files, folders and links on the server has \(room) left: "
                + "remove some that it has stored, or have its max-files raised."
        } count: { [weak self] _ in
            guard let use = self?.use(of: account, []) else { return nil }
            return Quota.Count(stored: use.names)
        }
        quota.givesWay { [weak self] lacking in self?.giveWay(to: account, lacking) { _ in 1 } ?? false }
        return quota
    }
}

// MARK: Counting what a client has

extension CallerQuotas {
    private struct Use {
        var names: UInt64 = 0
        var bytes: UInt64 = 0
        var parts: [UploadID: UInt64] = [:]

        mutating func add(names count: UInt64) {
            names = names.addingClamped(count)
            let (cost, overflow) = count.multipliedReportingOverflow(by: QuotaPrice.name)
            bytes = overflow ? .max : bytes.addingClamped(cost)
        }
    }

    /// Counts what the client has: the uploads that the catalog knows and that are unchanged, with their folders; what
    /// the server remembers of them; folders and links made since the server began; and mail that waits for recipients.
    ///
    /// - Parameter parts: unfinished uploads that count already.
    /// - Returns: nil if catalog or ledger cannot be read.
    private func use(of account: Account, _ parts: [UploadID]) -> Use? {
        var use = Use()
        do throws(RecordsError) {
            for id in try parts + known.unfinishedAnywhere(of: account.client).map(\.id) {
                use.parts[id] = store.parts?.part(id)?.size
            }
            if try !sumUp(account, &use) { try walk(account, &use) }
            // A ledger that cannot be opened takes no mail that could count.
            if let id = account.client.id, let mailroom, mailroom.isOpen {
                let mails = try mailroom.ledger.open(from: id)
                use.names = use.names.addingClamped(UInt64(mails.count))
                use.bytes = use.bytes.addingClamped(mails.bytes)
            }
            return use
        } catch {
            known.complain(error, unrecorded: 0)
            return nil
        }
    }

    /// Lets the records count what the client has stored.
    ///
    /// - Returns: false if they cannot.
    private func sumUp(_ account: Account, _ use: inout Use) throws(RecordsError) -> Bool {
        let made = account.made.paths
        guard let client = account.client.id,
            let (stored, gone) = try known.records.use(of: client, below: account.top, besides: made)
        else { return false }
        use.bytes = use.bytes.addingClamped(stored.bytes)
            .addingClamped(QuotaPrice.rows(stored.entries, pathBytes: stored.pathBytes))
        use.add(names: stored.files.addingClamped(stored.folders))
        add(made.subtracting(gone), gone, of: account, to: &use)
        return true
    }

    /// Counts what the client has stored, entry by entry. The paths come in their order, so that none has to be kept in memory.
    private func walk(_ account: Account, _ use: inout Use) throws(RecordsError) {
        var made = account.made.paths
        var folders = FolderCount(below: account.top)
        // The version at the path of the last entry.
        var there: (path: RelativePath, version: ContentVersion?)?
        try known.records.forEachEntryByPath { entry in
            guard account.client.hasSent(entry), let path = RelativePath(stored: entry.path) else { return }
            if there?.path != path { there = (path, store.version(at: path)) }
            // A file that was removed on the server does not count. Nor do its records, because the client cannot
            // remove them.
            guard let version = there?.version else { return }
            use.bytes = use.bytes.addingClamped(QuotaPrice.row(entry.path))
            guard path != folders.last, adoption.counts(entry, as: version) else { return }
            let new = folders.folders(above: path)
            if !made.isEmpty { for name in new + [path] { made.remove(name) } }
            use.add(names: UInt64(new.count + 1))
            use.bytes = use.bytes.addingClamped(entry.size)
        }
        let gone = made.filter { !store.exists($0) }
        add(made.subtracting(gone), gone, of: account, to: &use)
    }

    /// Counts what the client has made without an upload.
    private func add(_ made: Set<RelativePath>, _ gone: Set<RelativePath>, of account: Account, to use: inout Use) {
        account.made.remove(gone)
        use.add(names: UInt64(made.count).addingClamped(account.made.others))
    }
}

// MARK: Reserving room before something is made

extension CallerQuotas {
    /// Reserves what an upload or a copy may leave beside its content, before it is published.
    ///
    /// - Parameter mail: the mail's name and the bytes in the mail's note; nil if the upload is no mail.
    /// - Returns: nil for a client without limits.
    func share(
        for publication: Publication, _ mail: (name: String, note: Int)? = nil, of grant: Grant
    ) throws(Failure) -> ClientShare? {
        guard let limits = limits(for: grant) else { return nil }
        if let mail {
            return try ClientShare(of: limits, names: 1, bytes: QuotaPrice.mail(mail.name, note: mail.note))
        }
        // The file at the path is replaced or stays, so no name is added unless the upload takes another one.
        let isThere = publication.conflict != .keepBoth && store.exists(publication.path)
        // The replaced file may get a name in the trash.
        let keeps = publication.trash != nil && publication.conflict == .overwrite
        let names = isThere ? (keeps ? 1 : 0) : UInt64(1 + missing(publication.path.parent, grant).count)
        return try ClientShare(
            of: limits, names: names, bytes: names * QuotaPrice.name + QuotaPrice.row(publication.path.string))
    }

    /// Reserves names for folders and links that a client is about to make.
    ///
    /// - Returns: nil for a client without limits, and for a change that makes no names.
    func share(for change: TreeChange, of grant: Grant) throws(Failure) -> MadeShare? {
        let paths: [RelativePath]
        switch change {
        case .set, .discard: return nil
        case .folder(let path, _, _, _): paths = missing(path, grant)
        case .link(let path, _, _, _, _), .hardLink(let path, _, _, _, _): paths = missing(path.parent, grant) + [path]
        case .move(_, let target, _, _): paths = missing(target.parent, grant)
        }
        guard !paths.isEmpty, let limits = limits(for: grant),
            let made = accounts.withLock({ $0[grant.source]?.made })
        else { return nil }
        let count = UInt64(paths.count)
        return MadeShare(try ClientShare(of: limits, names: count, bytes: count * QuotaPrice.name), paths, made)
    }

    /// Updates the paths that clients have made when a folder is moved.
    func moved(_ path: RelativePath, to target: RelativePath) {
        for account in all { account.made.move(path, to: target) }
    }

    private func missing(_ folder: RelativePath?, _ grant: Grant) -> [RelativePath] {
        guard grant.options.quota != nil || grant.options.maximumFiles != nil else { return [] }
        return store.missingFolders(folder, below: grant.options.folder)
    }
}

/// The room reserved for names that are about to be made.
struct MadeShare: Sendable {
    private let share: ClientShare
    private let paths: [RelativePath]
    private let made: MadeNames

    init(_ share: ClientShare, _ paths: [RelativePath], _ made: MadeNames) {
        (self.share, self.paths, self.made) = (share, paths, made)
    }

    /// Charges the names to the client once they exist.
    func keep() {
        share.keepAll()
        made.add(paths)
    }
}

extension CatalogEntry {
    /// The least that the client's quota gets back when the file is gone.
    fileprivate var price: UInt64 { size.addingClamped(QuotaPrice.name).addingClamped(QuotaPrice.row(path)) }
}

/// The folders and links that one client has made since the server began. The catalog has no record of them.
final class MadeNames: Sendable {
    private struct State {
        var paths: Set<RelativePath> = []
        var bytes = 0
        /// The number of names whose paths were too many to be kept.
        var others: UInt64 = 0
    }

    /// Most paths that are kept in memory, and most bytes of them.
    private static let most = (count: 16_384, bytes: 2 << 20)

    private let state = Locked(State())

    var paths: Set<RelativePath> { state.withLock { $0.paths } }

    /// The number of names whose paths are not kept.
    var others: UInt64 { state.withLock { $0.others } }

    func add(_ paths: [RelativePath]) {
        state.withLock { state in
            for path in paths {
                if state.paths.count < Self.most.count, state.bytes < Self.most.bytes {
                    if state.paths.insert(path).inserted { state.bytes += path.string.utf8.count }
                } else {
                    state.others = state.others.addingClamped(1)
                }
            }
        }
    }

    func remove(_ paths: Set<RelativePath>) {
        state.withLock { state in
            for path in paths where state.paths.remove(path) != nil { state.bytes -= path.string.utf8.count }
        }
    }

    /// Replaces a path, and all paths below it, after a move.
    func move(_ path: RelativePath, to target: RelativePath) {
        state.withLock { state in
            guard !state.paths.isEmpty else { return }
            let moved = state.paths.filter { $0 == path || $0.below(path) != nil }
            for old in moved {
                state.paths.remove(old)
                let new = old.below(path).map { RelativePath(stored: "\(target.string)/\($0.string)") } ?? target
                guard let new, state.paths.insert(new).inserted else {
                    state.bytes -= old.string.utf8.count
                    continue
                }
                state.bytes += new.string.utf8.count - old.string.utf8.count
            }
        }
    }
}

/// Counts the folders of paths that come in the order of their bytes, so that the paths of one folder are adjacent.
struct FolderCount {
    /// The path that came last.
    private(set) var last: RelativePath?

    /// - Parameter top: a folder that is not counted, nor are those above it.
    init(below top: RelativePath?) { last = top.flatMap { RelativePath(stored: "\($0.string)/-") } }

    /// - Returns: the folders that no earlier path was in, the highest first.
    mutating func folders(above path: RelativePath) -> [RelativePath] {
        defer { last = path }
        var found: [RelativePath] = []
        var next = path.parent
        while let folder = next, !(last.map { $0.below(folder) != nil } ?? false) {
            found.append(folder)
            next = folder.parent
        }
        return found.reversed()
    }
}
