import TransferIO
import TransferModel

/// The connections of one push beside the first one: how many there may be, and when one is wanted. They only ever help:
/// one that is lost gives its uploads back and is not missed.
///
/// `@unchecked Sendable`: touched on the run's loop only.
final class Lanes: @unchecked Sendable {
    /// Bytes on their way before another lane is worth its handshake: at first, and when nothing was found to do for one.
    static let worthwhile = 1 << 20...64 << 20

    /// Lanes that may be lost before it is taken that this server or this network wants none.
    private static let mostLosses = 3

    /// What the server still takes of this push.
    enum Acceptance: Comparable {
        /// It has said to one of the connections that it has to go, and to a part that it is too late.
        case nothing
        /// It has to go: parts and ends of uploads that are under way.
        case running
        case everything
    }

    /// Fired when another lane would have something to do, and when nobody wants one any more.
    let wanted = Signal()

    /// Fired when a lane has ended.
    let ended = Signal()

    /// What is asked about before it is sent.
    var lookups = LookupGovernor()

    private(set) var sessions: [ClientSession] = []
    private(set) var isOver = false
    private(set) var acceptance = Acceptance.everything

    /// Whether a lane that was lost before the server had answered on it had sent parts. The server may have taken them, and
    /// then refuses them to older connections as `incomplete`.
    var hasDoubtfulParts = false

    /// Whether the server has answered on any of them, the first one included.
    private(set) var hasConnected = false
    private let allowance: LaneAllowance
    /// Where losses say how many lanes there may be.
    private var governor: LossGovernor?
    /// Whether the server takes parts that are a piece of a block.
    private var takesPieces = false
    private var isFar = false
    /// Whether something was found to do for the lane that was opened last.
    private var hasFoundWork = true
    private var begun: MonotonicTime?
    private var losses = 0
    private let wantedSharing: PartSharing?
    private let waitsForAnswer: Bool
    private var isPutOff = false
    private var isClosed = true

    /// - Parameters:
    ///   - allowance: the first lane included.
    ///   - sharing: how they share long files, where it is not the line that says it.
    ///   - waitsForAnswer: whether no other is opened before the server has let the first one in. What is shown to be let
    ///     in may work once only, and costs the server much the first time.
    init(_ allowance: LaneAllowance, sharing: PartSharing? = nil, waitsForAnswer: Bool = false) {
        (self.allowance, wantedSharing) = (allowance, sharing)
        self.waitsForAnswer = waitsForAnswer
    }

    var isEmpty: Bool { sessions.isEmpty }

    /// Whether another one may be opened now. One that is only too early is wanted again when the server has answered.
    ///
    /// - Parameter link: of the first one.
    func mayAdd(over link: LinkReading?) -> Bool {
        guard !waitsForAnswer || hasConnected else {
            isPutOff = true
            return false
        }
        return !isClosed && !isServerLeaving && sessions.count + 1 < limit(over: link) && losses < Self.mostLosses
    }

    /// - Parameter link: of the first one.
    private func limit(over link: LinkReading?) -> Int {
        allowance.lanes(
            after: begun.map { .now - $0 } ?? LaneAllowance.patience, over: link, governed: governor?.lanes)
    }

    /// The first lane is there.
    func open() {
        begun = begun ?? .now
        isClosed = false
        hasDoubtfulParts = false
        acceptance = .everything
        // It may be another server, which has not said yet what it takes.
        takesPieces = false
    }

    /// Chunks that may wait on each, where losses say how many lanes there are: what one has taken no other can send, and the more they
    /// are, the slower each is. Nothing where they don't.
    var chunksAhead: Int? { governor == nil ? nil : isHeldDown ? 1 : 2 }

    /// How they share long files.
    var sharing: PartSharing {
        let most = governor == nil ? allowance.most : max(allowance.most, allowance.mostOverLosses)
        var sharing = wantedSharing ?? PartSharing(lanes: most, inPieces: isFar, sharesShorter: isHeldDown)
        sharing.inPieces = sharing.inPieces && takesPieces
        return sharing
    }

    /// Whether losses hold each of them down.
    private var isHeldDown: Bool { governor.map { $0.lanes > LossGovernor.fewest } ?? false }

    /// Bytes of content in each of them. What waits on a lane that losses hold down is late for seconds.
    var chunkContent: Int { isHeldDown ? 64 << 10 : OutgoingChunk.payloadSize }

    /// What may wait in the kernel, on each that is looked at.
    private var unsent: StreamSocket.Unsent { isHeldDown ? .little : .far }

    /// Whether several may be opened at once: the line is what they wait for, not a core, and the last one had something to do.
    var opensSeveral: Bool { governor != nil && hasFoundWork }

    /// The server has answered on one.
    func connected() {
        hasConnected = true
        guard isPutOff else { return }
        isPutOff = false
        wanted.fire()
    }

    /// Whether the server has said that it has to go.
    var isServerLeaving: Bool { acceptance != .everything }

    /// The server has to go.
    func serverLeaves(taking acceptance: Acceptance) {
        self.acceptance = min(self.acceptance, acceptance)
    }

    /// No more are wanted: the first lane is over.
    func close() {
        isClosed = true
    }

    /// The push is over.
    func finish() {
        isOver = true
        isClosed = true
        wanted.fire()
    }

    func add(_ session: ClientSession) {
        sessions.append(session)
    }

    /// Whether something was found to do for a lane that was to be opened.
    func found(work hasFoundWork: Bool) {
        self.hasFoundWork = hasFoundWork
    }

    /// The server has answered on the first lane.
    ///
    /// - Parameter takesPieces: whether it takes parts that are a piece of a block.
    /// - Returns: whether the lanes are to be looked at from now on.
    func begins(over link: LinkReading?, takesPieces: Bool) -> Bool {
        self.takesPieces = takesPieces
        isFar = link.map(allowance.isFar) ?? false
        guard let link, allowance.isGoverned(over: link) else {
            governor = nil
            return false
        }
        // What an earlier connection has learned of the line is still so.
        governor = governor ?? LossGovernor(most: allowance.mostOverLosses)
        return true
    }

    /// Looks what becomes of the lanes, and asks for more or lets some go.
    ///
    /// - Parameters:
    ///   - first: the first lane.
    ///   - hasMore: whether there may be something to do for another.
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

    /// Ends those that the server has not answered; what they have begun goes to others.
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
