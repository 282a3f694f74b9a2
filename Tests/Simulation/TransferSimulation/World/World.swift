import Glibc
import TransferAccess
import TransferCatalog
import TransferCodec
import TransferIntake
import TransferKeys
import TransferMail
import TransferModel
import TransferReceipts
import TransferPorts
import TransferStore
import TransferSystem
import TransferTestSupport

/// A server's intake with its store on a simulated disk or in memory, callers that come and go, and what they were promised.
final class World {
    struct Options {
        let mix: Mix
        /// Whether nothing else in this process opens or closes anything meanwhile.
        var countsDescriptors = false
        /// A planted mistake.
        var forgetsDirectories = false
        /// Another one.
        var forgetsIntended = false
        /// Whether steps, and calls to the disk, are printed.
        var tells = false
    }

    let options: Options
    var mix: Mix { options.mix }
    let directory: TemporaryDirectory
    /// Where the directory is, as a mark in it says; nil where it has none, or that of another disk.
    let home = SimulatedHome()
    /// Whether it was ever copied: a server that need not look for that costs no call.
    var hasMigrated = false
    /// Power cuts so far, each of which leaves another directory.
    var number = 0
    var path: String
    /// A disk, or memory in its place.
    var disk: any SimulatedStorage
    let records: SimulatedCatalog
    /// Nothing in a world without mailboxes.
    let ledger: SimulatedLedger?
    var mailroom: Mailroom?
    var mails: [SentMail] = []
    /// What was last found in the ledger.
    var rows: [MailKey: MailRow] = [:]
    /// What each row was, in each of its states so far.
    var earlierRows: [MailKey: [DeliveryState: MailRow]] = [:]
    /// What had ended, and is in it no more.
    var forgotten: [MailKey: MailRow] = [:]
    /// What recipients have said.
    var said: [MailKey: Said] = [:]
    /// Whether somebody has just looked what has waited for too long.
    var mayExpire = false
    var checkedMail: (medium: Int, ledger: Int)?
    let signer: ServerIdentity?
    var store: (any ServerStore)?
    var intake: Intake?
    var sessions: [Session?]
    /// Connections whose clients have gone.
    var ghosts: [Session] = []
    /// Whose calls others may come between now.
    var busy: Session?
    /// The upload in parts that they are about.
    var busyUpload: Int?
    /// Steps of others that came between.
    var stepsBetween = 0
    /// What went wrong when others came between.
    var trouble: (any Error)?
    var connections = 0
    /// Grows with whatever happens.
    var moment = 0
    /// Servers so far.
    var servers = 0
    var random: SplitMix64
    let clock = VirtualClock()
    var uploads: [Upload] = []
    var contents: [[UInt8]] = []
    /// Contents by their beginnings, which say enough of most of them and are looked up fast.
    var beginnings: [[UInt8]: [Int]] = [:]
    var promises = Promises()
    /// Bytes that others have taken away, and that the server still counts.
    var strayBytes = 0
    /// Whether what the server says now reaches nobody, because its connection has gone.
    var isUnheard = false
    /// Whether nobody knows what a server has to count.
    var isMiscounted = false
    /// Paths that the newest of all connections has replaced something under, and its number.
    var overwriters: [String: Int] = [:]
    /// Paths of files that the disk has lost, and whether the server was told.
    var rotten: [String: Bool] = [:]
    /// Contents of files of which the server was told that the disk has lost them.
    var knownRot: [Medium.Object: [UInt8]] = [:]
    var callers: [Caller]
    /// Whether the second client may send; it may be told that it may not in the middle of an upload.
    var guestMaySend = true
    /// What servers have done, and what has happened.
    var done: Set<Operation> = []
    var kinds: Set<Step.Kind> = []
    /// Keys that people were told to be kept, by their names.
    var sealingKeys: [String: [UInt8]] = [:]
    /// Directories that others have removed under this server.
    var removedDirectories: [String] = []
    /// Directories that this server has made durable.
    var durableDirectories: Set<String> = []
    /// Contents that others have put somewhere, too.
    var copied: Set<Int> = []
    /// Contents of files that a server touches when it takes a second name away, by their paths.
    var touched: [String: Int] = [:]
    /// What others have written or copied, and what the disk has made of something, by their paths.
    var foreign: [String: Set<[UInt8]>] = [:]
    /// Files that commands have stored so that they do not replace them, with what the content was changed last and the server.
    var commandFiles: [Medium.Object: CommandFile] = [:]
    /// Every name of a whole upload so far.
    var log:
        [(path: String, content: Int, object: Medium.Object?, replaced: [UInt8]?, replacedObject: Medium.Object?)] = []
    /// Descriptors of this process before the first server.
    let descriptors: Int
    /// Numbers of receipts that were given.
    var receiptNumbers: Set<UInt64> = []
    /// What the parts that are coming may write.
    var claims: [Claim] = []
    /// Parts of the trash so far.
    var trashBatches: UInt32 = 0
    /// Places in the trash that files have got beside their own names, which something else is about to take, or has taken.
    var keptLinks: [Medium.Object: Set<String>] = [:]
    /// How many files have given way and are kept, so far.
    var kept = 0
    /// Whether the server has said in this step that the trash has given way, and what has lost its name there since it was looked.
    let givenWay = SharedFlag()
    var lostFromTrash: [(path: String, object: Medium.Object)] = []
    /// Files that were kept in this step and have lost their names in the trash again, while they had their own names still.
    var lostWhileKept: Set<Medium.Object> = []
    /// Whether any file has got a second name: a server counts that at its start, and not when it is made.
    var hasLinked = false
    /// Directories that nobody had made before, so far.
    var freshDirectories = 0
    /// Changes of names that are made in this step, and what has moved in it so far.
    var changing: [TreeChange] = []
    var moves: [SimulatedDisk.Move] = []
    /// Files that the catalog had only under paths of others when these changes began.
    var misplaced: Set<Medium.Object> = []
    /// The connection whose command makes them, where they belong to one.
    var changer: Session?
    /// When something was moved to a path for the last time, in changes as promises count them.
    var arrivals: [String: Int] = [:]
    /// What was checked last: nothing has to be checked that has not changed since.
    var checked: (medium: Int, promises: Int)?
    let trace = Trace()
    /// Calls to disks that are no more.
    var earlierCalls: UInt64 = 0

    /// Syncs that have failed on disks that are no more.
    var earlierFailedSyncs = 0

    var calls: UInt64 { earlierCalls + disk.calls }

    var failedSyncs: Int { earlierFailedSyncs + disk.failedSyncs }

    init(_ options: Options, seed: UInt64) throws {
        self.options = options
        callers = Caller.simulated(guestQuota: options.mix.guestQuota)
        random = SplitMix64(seed: seed)
        directory = try TemporaryDirectory(prefersMemory: true)
        records = try SimulatedCatalog(directory.path("catalog"), forgetsIntended: options.forgetsIntended)
        path = directory.path("0")
        mkdir(path, 0o755)
        descriptors = options.countsDescriptors ? Self.openDescriptors : 0
        signer = options.mix.givesReceipts ? ServerIdentity() : nil
        ledger = options.mix.hasMail ? try SimulatedLedger(directory.path("ledger")) : nil
        sessions = Array(repeating: nil, count: options.mix.sessions)
        switch options.mix.store {
        case .directory:
            var medium = Medium(root: path, clock: clock)
            if options.mix.hasSecondDisk { medium.mountSecond(in: path) }
            disk = SimulatedDisk(
                medium, seed: random.next(), forgetsDirectories: options.forgetsDirectories,
                tells: options.tells, trace: trace)
        case .memory: disk = SimulatedMemory(root: path, clock: clock, trace: trace)
        }
        records.isDead = { [unowned self] in disk.isDead }
        records.die = { [unowned self] in disk.die() }
        try start()
    }

    func wait(_ seconds: Int64) {
        clock.wait(seconds * 1_000_000_000)
        intake?.multiparts.letGo(desertedUpTo: clock.clock.monotonic() - 60_000_000_000)
    }
}
