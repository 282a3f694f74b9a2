import Synchronization
import TransferCodec
import TransferModel
import TransferProtocol
import TransferPorts
import TransferStore
import TransferSystem

/// The requests of one connection of a pull, and the files that it has fetched and not published yet.
///
/// `@unchecked Sendable`: only the pool and the session's tasks call it, and a lock protects what two of them may use
/// at once.
final class PullLane: RequestSource, @unchecked Sendable {
    /// The bytes of content that are requested ahead: enough to fill a link, few enough to leave other connections
    /// their share.
    private static let bytesAhead: UInt64 = 16 << 20

    /// When the folders that one call of `next` compares have this many local files, the requests are sent first, so
    /// that the server can work on them meanwhile.
    private static let mostCompared = 1024

    /// The most files to publish together, because each holds a descriptor.
    private static let mostReady = 128

    let plan: PullPlan
    let directory: PullDirectory
    private let present: PresentFiles
    private let asked = Locked<UInt64>(0)
    /// Whether the server can compare whole folders.
    private let comparesFolders = Atomic(false)
    private var hasBegun = false
    /// The number of local files in the folders that the current call of `next` compares. Files that are compared one
    /// by one do not count.
    private var compared = 0
    // Used only while answers are taken.
    private var spare: (digester: ContentDigester, function: DigestFunction)?
    private var ready: [(file: any PullPublishing, publication: Publication)] = []

    init(_ plan: PullPlan, _ directory: PullDirectory) {
        (self.plan, self.directory) = (plan, directory)
        present = PresentFiles(directory: directory, configuration: plan.context.configuration)
    }

    deinit {
        if hasBegun { plan.laneEnded(ObjectIdentifier(self)) }
    }

    var isOver: Bool { plan.isOver }

    var needs: Features { plan.archive == nil ? .files : [.files, .trees] }

    func welcomed(_ welcome: Welcome, by server: ProvenServer) {
        comparesFolders.store(welcome.features.contains(.folders), ordering: .relaxed)
    }

    func mayRead(_ next: Request?) -> Bool {
        let isList = if case .list = next { true } else { false }
        return plan.mayRead(self, isList: isList)
    }

    func next(_ count: Int, _ bytes: Int) -> [PendingRequest] {
        if !hasBegun { plan.laneBegan() }
        hasBegun = true
        var next: [PendingRequest] = []
        var room = bytes
        let here = directory.reader()
        compared = 0
        // There must be room for an item with the longest path.
        while next.count < count, room >= Request.fixedCost + Limits.path, asked.withLock({ $0 }) < Self.bytesAhead,
            compared < Self.mostCompared
        {
            guard let item = plan.next() else { break }
            guard let request = request(for: item, here) else { continue }
            room -= request.request.cost
            next.append(request)
        }
        return next
    }

    private func request(for item: PullPlan.Item, _ here: any TreeReader) -> PendingRequest? {
        switch item {
        case .operand(let operand): return operand.asked
        case .folder(let folder): return ask(about: folder)
        case .file(let file):
            return prepare(file, here)
        case .part(let split, let range):
            guard !split.hasFailed else {
                split.dropped()
                return nil
            }
            return PullPartArrival(split, range, self).asked
        }
    }

    func settle() {
        publish()
    }

    /// Takes a verified file, to be published.
    func add(_ file: any PullPublishing, _ publication: Publication) {
        ready.append((file, publication))
        if ready.count >= Self.mostReady { publish() }
    }

    /// Counts bytes that were requested.
    func asks(_ bytes: UInt64) {
        asked.withLock { $0 = $0.addingClamped(bytes) }
    }

    /// Counts requested bytes that have arrived, or no longer will.
    func answered(_ bytes: UInt64) {
        asked.withLock { $0 -= min($0, bytes) }
    }

    private func publish() {
        guard !ready.isEmpty else { return }
        let outcomes = directory.publish(ready.map(\.publication))
        for ((file, _), outcome) in zip(ready, outcomes) { file.published(outcome) }
        ready.removeAll(keepingCapacity: true)
    }

    /// A digester for an answer: one that was used before, or a new one.
    func takeDigester(_ function: DigestFunction) -> ContentDigester {
        guard let spare = spare.take(), spare.function == function else { return ContentDigester(function) }
        spare.digester.reset()
        return spare.digester
    }

    func giveBack(_ digester: ContentDigester, _ function: DigestFunction) { spare = (digester, function) }
}

// MARK: Before a folder is asked for

extension PullLane {
    /// Compares a folder with one digest if it looks as an earlier pull left it; otherwise lists it.
    private func ask(about folder: PullFolder) -> PendingRequest {
        let configuration = plan.context.configuration
        guard comparesFolders.load(ordering: .relaxed), configuration.asksByFolder, plan.archive == nil,
            !folder.isListed,
            folder.scope.isAll,
            !configuration.comparesContent, configuration.conflict != .skip, !directory.isInDoubt,
            let present = directory.present(in: folder.target)
        else { return folder.asked }
        compared += present.files
        return PullComparison(folder, present, plan).asked
    }
}

// MARK: Before a file is asked for

extension PullLane {
    /// Checks whether the file, or a part of it, exists already.
    ///
    /// - Returns: the request; nil if no request is needed, because the file was reported or divided into parts.
    private func prepare(_ file: PullFile, _ here: any TreeReader) -> PendingRequest? {
        do throws(Failure) {
            if let report = try present.report(of: file, here) {
                plan.report(report, of: file)
                return nil
            }
            guard file.isLong, let part = try part(of: file) else { return PullArrival(file, self).asked }
            let isSplit = part.length == 0 && PullSplit.isWorthwhile(file, plan)
            // A request for a range must state the version.
            if file.version == nil, isSplit || part.length > 0 { return PullProbe(file, plan).asked }
            guard !isSplit else {
                PullSplit(file, part, plan).begin()
                return nil
            }
            let digester = ContentDigester(file.function(plan.context.configuration))
            let present = try digestPrefix(of: part, file, digester)
            return PullArrival(file, self, part: part, present: present, digester: digester).asked
        } catch {
            plan.report(file.report(error.code, error.message), of: file)
            return nil
        }
    }

    private func part(of file: PullFile) throws(Failure) -> StagedFile? {
        let id = file.partID(on: plan.context.server.server)
        guard let part = try directory.resume(id: id) else { return nil }
        if file.mustStartAnew || part.length > file.entry.size { try part.empty() }
        return part
    }

    /// - Returns: the number of bytes in whole blocks at the beginning of the part, which the digester has read.
    private func digestPrefix(
        of part: StagedFile, _ file: PullFile, _ digester: ContentDigester
    ) throws(Failure) -> UInt64 {
        let block = UInt64(Limits.blockSize)
        let present = part.firstHole / block * block
        guard present > 0 else { return 0 }
        let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: 256 << 10, alignment: 4096)
        defer { buffer.deallocate() }
        while digester.size < present {
            let count = try part.read(into: buffer, at: digester.size)
            // Another process has shortened the part.
            guard count == buffer.count else {
                digester.reset()
                return 0
            }
            digester.update(UnsafeRawBufferPointer(buffer)) { _, _ in }
            if digester.size % (64 << 20) == 0 { progress(file, digester.size, .resuming) }
        }
        return present
    }

    func progress(_ file: PullFile, _ bytes: UInt64, _ phase: UploadProgress.Phase = .sending) {
        plan.events.send(
            .progress(UploadProgress(phase: phase, source: file.source, bytes: bytes, size: file.entry.size)))
    }
}
