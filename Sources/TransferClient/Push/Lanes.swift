import TransferIO
import TransferModel
import TransferProtocol

/// The lanes of one push besides the first: how many there may be, and when another one is wanted. The push can do
/// without them: the uploads of a lost lane go back to the feed.
///
/// `@unchecked Sendable`: used on the run's loop only.
final class Lanes: @unchecked Sendable {
    /// The bytes that a lane produces before it requests another one, so that the handshake is worth it: at first the
    /// lower bound, then twice as many after each request, up to the upper bound.
    static let worthwhile = 1 << 20...64 << 20

    /// The number of lost lanes after which no more are opened, because this server or network does not seem to allow
    /// them.
    private static let mostLosses = 3

    /// What the server still accepts from this push.
    enum Acceptance: Comparable {
        /// Nothing: it is stopping, and has refused a part as too late.
        case nothing
        /// Parts and ends of uploads under way, because it is stopping.
        case running
        case everything
    }

    /// Fired when another lane would have work, and when the push is over.
    let wanted = Signal()

    /// Fired when a lane other than the first has ended.
    let ended = Signal()

    /// Decides which uploads are looked up before they are sent.
    var lookups = LookupGovernor()

    private(set) var sessions: [ClientSession] = []
    private(set) var isOver = false
    private(set) var acceptance = Acceptance.everything

    /// Whether a lane had sent parts and was lost before the server answered on it. The server may have accepted these
    /// parts, and then refuses them as `incomplete` on older connections.
    var hasDoubtfulParts = false

    /// Whether the server has answered on any lane, including the first.
    private(set) var hasConnected = false
    private let allowance: LaneAllowance
    /// Decides about the number of lanes by losses; nil if losses do not matter.
    private var governor: LossGovernor?
    /// Whether the server accepts parts that are a piece of a block.
    private var takesPieces = false
    /// Whether the server stores each part as an object.
    private var storesObjects = false
    private var isFar = false
    /// Whether work was found for the lane that was opened last.
    private var hasFoundWork = true
    private var begun: MonotonicTime?
    private var losses = 0
    private let wantedSharing: PartSharing?
    private let waitsForAnswer: Bool
    private var isPutOff = false
    private var isClosed = true

    /// - Parameters:
    ///   - allowance: the number of lanes, including the first.
    ///   - sharing: how lanes share long files; nil to decide by the line.
    ///   - waitsForAnswer: whether to open no other lane before the server has let the first one in. A token or pairing
    ///     code may work only once, and the first check costs the server much.
    init(_ allowance: LaneAllowance, sharing: PartSharing? = nil, waitsForAnswer: Bool = false) {
        (self.allowance, wantedSharing) = (allowance, sharing)
        self.waitsForAnswer = waitsForAnswer
    }

    var isEmpty: Bool { sessions.isEmpty }

    /// Whether another lane may be opened now. If it is only too early, `wanted` fires when the server has answered.
    ///
    /// - Parameter link: TCP's measurements of the first lane.
    func mayAdd(over link: LinkReading?) -> Bool {
        guard !waitsForAnswer || hasConnected else {
            isPutOff = true
            return false
        }
        return !isClosed && !isServerLeaving && sessions.count + 1 < limit(over: link) && losses < Self.mostLosses
    }

    /// - Parameter link: TCP's measurements of the first lane.
    private func limit(over link: LinkReading?) -> Int {
        allowance.lanes(
            after: begun.map { .now - $0 } ?? LaneAllowance.patience, over: link, governed: governor?.lanes)
    }

    /// Notes that the first lane is being opened.
    func open() {
        begun = begun ?? .now
        isClosed = false
        hasDoubtfulParts = false
        acceptance = .everything
        // The new connection may lead to another server, which has not said yet what it accepts.
        (takesPieces, storesObjects) = (false, false)
    }

    /// The most chunks that wait on each lane if losses decide about the number of lanes; otherwise nil. There are few,
    /// because no other lane can send them, and each lane is slower if there are more lanes.
    var chunksAhead: Int? { governor == nil ? nil : isHeldDown ? 1 : 2 }

    /// How lanes share long files at present.
    var sharing: PartSharing {
        let most = governor == nil ? allowance.most : max(allowance.most, allowance.mostOverLosses)
        var sharing = wantedSharing ?? PartSharing(lanes: most, inPieces: isFar, sharesShorter: isHeldDown)
        sharing.inPieces = sharing.inPieces && takesPieces
        sharing.inObjects = sharing.inObjects || storesObjects && !isFar
        return sharing
    }

    /// Whether losses hold each lane down.
    private var isHeldDown: Bool { governor.map { $0.lanes > LossGovernor.fewest } ?? false }

    /// The bytes of content in each chunk. Chunks are smaller if losses hold the lanes down, because waiting chunks
    /// would be late by seconds.
    var chunkContent: Int { isHeldDown ? 64 << 10 : OutgoingChunk.payloadSize }

    /// The limit of unsent bytes in the kernel for each observed lane.
    private var unsent: StreamSocket.Unsent { isHeldDown ? .little : .far }

    /// Whether several lanes may be opened at once: the line limits the push, and not a core, and there was work for
    /// the last lane.
    var opensSeveral: Bool { governor != nil && hasFoundWork }

    /// Notes that the server has answered on a lane.
    func connected() {
        hasConnected = true
        guard isPutOff else { return }
        isPutOff = false
        wanted.fire()
    }

    /// Whether the server has said that it is stopping.
    var isServerLeaving: Bool { acceptance != .everything }

    /// Notes that the server is stopping.
    func serverLeaves(taking acceptance: Acceptance) {
        self.acceptance = min(self.acceptance, acceptance)
    }

    /// Opens no more lanes, because the first one has ended.
    func close() {
        isClosed = true
    }

    /// Ends the waiting for lanes when the push is over.
    func finish() {
        isOver = true
        isClosed = true
        wanted.fire()
    }

    func add(_ session: ClientSession) {
        sessions.append(session)
    }

    /// Notes whether work was found for a new lane.
    func found(work hasFoundWork: Bool) {
        self.hasFoundWork = hasFoundWork
    }

    /// Decides how lanes are managed when the server has answered on the first one.
    ///
    /// - Parameter features: those of the server.
    /// - Returns: whether the lanes are to be observed from now on.
    func begins(over link: LinkReading?, _ features: Features) -> Bool {
        (takesPieces, storesObjects) = (features.contains(.pieces), features.contains(.objects))
        isFar = link.map(allowance.isFar) ?? false
        guard let link, allowance.isGoverned(over: link) else {
            governor = nil
            return false
        }
        // An earlier connection's findings about the line are still valid.
        governor = governor ?? LossGovernor(most: allowance.mostOverLosses)
        return true
    }

    /// Observes the lanes, and requests more or retires some.
    ///
    /// - Parameters:
    ///   - first: the first lane.
    ///   - hasMore: whether there may be work for another lane.
    func look(with first: ClientSession, hasMore: Bool, now: MonotonicTime) {
        guard governor != nil else { return }
        var links: [Int: LinkReading] = [:]
        for session in [first] + sessions { links[session.number] = session.assumeIsolated { $0.link } }
        let before = governor?.lanes ?? 0
        governor?.look(at: links, now: now)
        for session in [first] + sessions { session.assumeIsolated { $0.bound(unsent) } }
        guard let lanes = governor?.lanes else { return }
        let limit = limit(over: links[first.number])
        if lanes < before {
            for session in sessions.dropFirst(max(0, limit - 1)) { session.assumeIsolated { $0.retire() } }
        }
        if hasMore, sessions.count + 1 < limit { wanted.fire() }
    }

    /// Ends lanes that the server has not answered; their uploads go to other lanes.
    func endUnanswered() {
        for session in sessions {
            session.assumeIsolated { if !$0.hasConnected { $0.giveUp() } }
        }
    }

    func remove(_ session: ClientSession, wasLost: Bool) {
        sessions.removeAll { $0 === session }
        if wasLost { losses += 1 }
        ended.fire()
    }
}
