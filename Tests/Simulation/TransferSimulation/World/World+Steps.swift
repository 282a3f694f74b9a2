import Glibc
import TransferCatalog
import TransferIntake
import TransferModel
import TransferPorts
import TransferStore
import TransferTestSupport

/// Performs the steps of a run, and checks the promises after each one.
extension World {
    /// - Throws: `Promises.Broken`, and errors that keep a server from starting.
    func take(_ step: Step) throws {
        if options.tells { print("  \(step)") }
        let isFaulty = arm(for: step)
        try perform(step)
        if hasMigrated { adopt() }
        if isFaulty { disk.arm(nil as SimulatedDisk.Fault?) }
        if let trouble { throw trouble }
        try check()
        try checkMail()
        if disk.isDead { try restart() }
    }

    /// Arms a fault in many of the steps that make something durable, and in some of the others.
    ///
    /// - Returns: whether this call has armed a fault.
    func arm(for step: Step) -> Bool {
        let makesDurable = [.publish, .allParts, .resend, .batch, .rearrange, .discard, .restore].contains(step.kind)
        let rate = makesDurable ? mix.faultRates.durable : mix.faultRates.other
        guard step.c >> 8 % rate == 0, step.kind != .mend, step.kind != .failDisk,
            let kind = mix.faults.randomElement(step.c >> 12)
        else { return false }
        disk.arm(.init(kind: kind, wait: step.c >> 16 % (busy == nil ? mix.faultWait : 2)))
        return true
    }

    func perform(_ step: Step) throws {
        kinds.insert(step.kind)
        switch step.kind {
        case .begin: try begin(step)
        case .batch: try batch(step)
        case .resend: try resend(step)
        case .overtake: try overtake(step)
        case .askAgain: try askAgain(step)
        case .append: try append(step)
        case .end: try end(step)
        case .publish: try publish(step)
        case .acknowledge: try acknowledge(step.a)
        case .part: try sendPart(step)
        case .finishParts: try finishParts(step)
        case .survey: try survey(step)
        case .allParts: try sendAllParts(step)
        case .breakOff: try breakOff(step)
        case .takeBack: try takeBack(step)
        case .grow: try grow(step)
        case .vanish: try vanish(step.a)
        case .fade: try fade(step.a)
        case .haunt: try haunt(step)
        case .abort: try abort(step)
        case .lookup: try lookup(step)
        case .change: if mix.store.isOnDisk { try change(step) }
        case .scrub: try scrub(step)
        case .wait: wait(Int64(step.b % 7200))
        case .expire: expire(step)
        case .kill: try restart()
        case .rest: try rest()
        case .powerCut: try cutPower()
        case .failDisk:
            guard let kind = mix.faults.randomElement(step.a) else { return }
            disk.arm(.init(kind: kind, wait: step.b % (2 * mix.faultWait)))
        case .failRecords: records.fail(step.b, after: step.c % 24)
        case .mend: mend()
        case .mail: try mail(step)
        case .mailAgain: try mailAgain(step)
        case .settle: try settle(step)
        case .expireMail: try expireMail(step)
        case .failLedger: ledger?.fail(step.b, after: step.c % 6)
        case .rearrange: try rearrange(step)
        case .discard: try discard(step)
        case .restore: try restore(step)
        case .remove: try remove(step)
        case .copy: try copyStored(step)
        case .introduce: try introduce(step)
        case .migrate: if mix.store.isOnDisk { try migrate(step) }
        case .restrict: restrict()
        case .proceed, .failOver, .sweep: return
        }
    }

    func mend() {
        disk.arm(nil as SimulatedDisk.Fault?)
        records.mend()
        ledger?.mend()
    }
}

extension Collection where Index == Int {
    /// The element that a number chooses; nil if the collection is empty.
    func randomElement(_ number: UInt32) -> Element? {
        isEmpty ? nil : self[startIndex + Int(number) % count]
    }
}
