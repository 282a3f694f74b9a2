/// Decides whose work a thread of a pool does next: start-time fair queueing over the accounts, first in, first out within
/// one. Sans-IO.
///
/// Each account has a place in a virtual time, which moves on by the time that its work took. Next comes the account that
/// is furthest behind. One that has had nothing to do begins where the others are, so nobody saves up turns, and whoever
/// comes now and then does not wait for those who always have more.
///
/// An account never has all threads: their work may be long, and others that come have to find one. Of eight threads the last
/// one is for accounts that are behind, however many others there are.
///
/// An account pays for the time in which its work had a processor, and a part of the rest. Bytes that it has sent pay for most of
/// the work that they cause: otherwise a crowd that orders a lot with a few bytes each would leave next to nothing for a client with
/// content.
///
/// Work that computes has no more threads than there are processors, unless bytes have paid for it. More of them would not be faster,
/// and would keep everybody else from the processors: the threads that work for other clients, and those of the connections. For the
/// same reason they give way to these threads while others are there: their threads have a lower priority (`BlockingPool`).
struct FairQueue {
    /// That a thread works for an account, to be given back when it is done.
    struct Turn {
        fileprivate let account: PoolAccount
        /// Nanoseconds that the account has paid in advance.
        fileprivate let paid: Int64
        fileprivate let computes: Bool
        let givesWay: Bool
    }

    /// Work that waits.
    private(set) var count = 0

    private let threads: Int
    /// Threads that are left to accounts that have used no more than others.
    private let kept: Int
    private let processors: Int
    private var running = 0
    /// Of them, those that compute.
    private var computing = 0
    /// Accounts with work that waits. Those of a server are few, compared with their connections.
    private var ready: [PoolAccount] = []
    /// The virtual time: the least start of all waiting accounts when a turn last began.
    private var now: Int64 = 0
    private var latest: PoolAccount?
    /// When another account than before had a turn; nanoseconds of the monotonic clock.
    private var changed: Int64?

    /// Nanoseconds after which an account that others were beside counts as alone.
    private static let memory: Int64 = 1_000_000_000

    /// - Parameters:
    ///   - threads: that take work from it.
    ///   - processors: that they share.
    init(threads: Int, processors: Int) {
        (self.threads, self.processors) = (threads, max(1, processors))
        kept = threads / Self.keptPart
    }

    /// One of so many threads is kept.
    private static let keptPart = 8

    mutating func append(_ work: PoolWork, for account: PoolAccount) {
        if account.waiting.count == 0 {
            ready.append(account)
            if account.running == 0 { account.start = max(account.start, now) }
        }
        account.waiting.append(work)
        account.takeCredit()
        count += 1
    }

    /// Which work a thread takes.
    enum Choice {
        case any
        /// Work of accounts that give way to others: they have more work done than they pay for, and are not alone.
        case givingWay
        /// All other work.
        case notGivingWay
    }

    /// What a free thread is to do.
    ///
    /// - Parameter time: nanoseconds of the monotonic clock.
    /// - Returns: nil when nothing waits that may be done now.
    mutating func next(_ choice: Choice = .any, at time: Int64) -> (work: PoolWork, turn: Turn)? {
        guard let index = nextIndex(choice, at: time) else { return nil }
        let account = ready[index]
        let least = ready.lazy.map(\.start).min() ?? account.start
        guard let work = account.waiting.popFirst() else { return nil }
        if account.waiting.count == 0 { ready.remove(at: index) }
        count -= 1
        running += 1
        account.running += 1
        let computes = account.isCrowding
        if computes { computing += 1 }
        now = max(now, least)
        let paid = account.usual
        account.start += paid
        let givesWay = givesWay(account, at: time)
        note(account, time)
        return (work, Turn(account: account, paid: paid, computes: computes, givesWay: givesWay))
    }

    /// Whether there is something for another thread.
    func hasNext(_ choice: Choice = .any, at time: Int64) -> Bool { nextIndex(choice, at: time) != nil }

    /// - Parameters:
    ///   - duration: nanoseconds that it took.
    ///   - computing: nanoseconds of them in which it had a processor.
    mutating func finished(_ turn: Turn, after duration: Int64, computing: Int64) {
        let account = turn.account
        let computing = min(computing, duration)
        account.takeCredit()
        // What it has waited for, a disk or the work of others, has kept one of the threads from them, and none of the processors.
        let cost = computing + (duration - computing) / Int64(threads)
        let free = min(account.credit, cost - cost / Self.paidPart)
        account.credit -= free
        let charge = cost - free
        account.start += charge - turn.paid
        account.usual = (3 * account.usual + charge) / 4
        account.usualDuration = (3 * account.usualDuration + duration) / 4
        account.usualComputing = (3 * account.usualComputing + computing) / 4
        // Half of what each of the threads could have had of the processors.
        let crowd = Int64(max(running, processors))
        account.computes =
            account.isLimited && account.usualComputing >= Self.littleComputing
            && 2 * account.usualComputing * crowd > account.usualDuration * Int64(processors)
        running -= 1
        account.running -= 1
        if turn.computes { self.computing -= 1 }
    }

    /// Nanoseconds of processor time per turn below which an account does not count as computing.
    private static let littleComputing: Int64 = 100_000

    /// Credit covers at most 15/16 of the cost of a turn: an account that sends a lot still pays 1/16, so others get turns too.
    private static let paidPart: Int64 = 16

    private func nextIndex(_ choice: Choice, at time: Int64) -> Int? {
        var found: Int?
        for (index, account) in ready.enumerated() where mayRun(account, at: time) && isIn(choice, account, at: time) {
            if found.map({ account.start < ready[$0].start }) ?? true { found = index }
        }
        return found
    }

    /// Beside others an account leaves free three times as many threads as it has, and alone a third: so one more always
    /// finds a thread, as far as a few accounts go. Few at once, because they share what is behind them, too: a disk that
    /// has four writes of one client to do, or frees what he threw away, makes another's sync wait for all of them.
    private func mayRun(_ account: PoolAccount, at time: Int64) -> Bool {
        guard running < threads, account.isLimited else { return running < threads }
        // Who had nothing to do begins where the others are; whoever has work all the time is ahead of that, or is next anyway.
        if running >= threads - kept, account.start > now { return false }
        if account.isCrowding, computing >= processors { return false }
        guard account.running > 0 else { return true }
        let (held, left) = (account.running + 1, threads - running - 1)
        return isAlone(at: time) ? held <= 3 * left : 3 * held <= left
    }

    private func isIn(_ choice: Choice, _ account: PoolAccount, at time: Int64) -> Bool {
        switch choice {
        case .any: true
        case .givingWay: givesWay(account, at: time)
        case .notGivingWay: !givesWay(account, at: time)
        }
    }

    private func givesWay(_ account: PoolAccount, at time: Int64) -> Bool { account.isCrowding && !isAlone(at: time) }

    private func isAlone(at time: Int64) -> Bool { changed.map { time - $0 > Self.memory } ?? true }

    private mutating func note(_ account: PoolAccount, _ time: Int64) {
        guard account.isLimited, account !== latest else { return }
        if latest != nil { changed = time }
        latest = account
    }
}
