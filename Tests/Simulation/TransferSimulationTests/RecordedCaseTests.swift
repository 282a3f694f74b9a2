import Glibc
import Testing
import TransferModel
import TransferPorts
import TransferStore
import TransferSystem

@testable import TransferSimulation

@Suite struct RecordedCaseTests {
    /// The mixes of seeds differ, so that each form of each value occurs for some of the seeds.
    @Test(arguments: 0..<40 as Range<UInt64>, Simulation.StoreKind.allCases)
    func whatIsWrittenIsReadAgain(_ seed: UInt64, over store: Simulation.StoreKind) throws {
        let whole = Simulation.recorded(seed: seed, store)
        let recorded = RecordedCase(
            comments: ["a is gone", "# 2"], seed: seed, mix: whole.mix, steps: Array(whole.steps.prefix(3)))
        let read = try RecordedCase(parsing: recorded.description)
        #expect(read == recorded)
        #expect(read.comments == recorded.comments)
        #expect(read.steps == recorded.steps)
    }

    /// The seeds play in another process, in which all dictionaries have one order.
    @Test func aWrittenRunPlaysAsItsSeed() async {
        #expect(OneOrder.isSet)
        await #expect(processExitsWith: .success) {
            for seed in 0..<12 as Range<UInt64> {
                let text = Simulation.recorded(seed: seed).description
                let played = try Simulation().play(try RecordedCase(parsing: text))
                #expect(played.trace == (try Simulation().run(seed: seed).trace), "seed \(seed)")
            }
        }
    }

    /// A property that a case does not contain would have another value after the next change of `Mix`.
    @Test func aCaseHasAllThatAWorldReads() {
        let properties = Mirror(reflecting: Mix()).children.compactMap(\.label)
        let written = Set(Mix.fields.map { $0.name.split(separator: ".")[0] }.map(String.init))
        #expect(written == Set(properties).subtracting(["weights", "length"]))
    }

    @Test func whatIsMissingIsTheDefault() throws {
        let read = try RecordedCase(parsing: "\n# one\r\nseed=7\nquota=5\n  kill( 1,2, 3 )  \n")
        var mix = Mix()
        mix.quota = 5
        let step = Step(kind: .kill, a: 1, b: 2, c: 3)
        #expect(read == RecordedCase(comments: ["one"], seed: 7, mix: mix, steps: [step]))
    }

    @Test(arguments: [
        "", "kill(1, 2, 3)", "seed=x", "seed=1\nkil(1, 2, 3)", "seed=1\nkill(1, 2)", "seed=1\nkill(1, 2, 3, 4)",
        "seed=1\nkill(1, 2, 4294967296)", "seed=1\nkill 1 2 3", "seed=1\ncolour=red", "seed=1\nfaults=sync rain",
        "seed=1\nquota=much", "seed=1\nnames=", "seed=1\nsizes=", "seed=1\nsessions=0", "seed=1\nfaultRates.other=0",
    ])
    func whatIsNoCase(_ text: String) {
        #expect(throws: RecordedCase.Malformed.self) { try RecordedCase(parsing: text) }
    }

    @Test func aFailureIsPrintedAsACase() throws {
        let recorded = RecordedCase(comments: ["seed 7: gone"], seed: 7, mix: Mix(), steps: [])
        let failure = Simulation.FailedRun(seed: 7, reason: "gone", kind: "gone", recorded: recorded)
        #expect(try RecordedCase(parsing: "\(failure)") == recorded)
        let quick = Simulation.FailedRun(seed: 7, reason: "gone\nfor ever", kind: "gone", recorded: nil)
        #expect("\(quick)" == "# seed 7: gone for ever\n")
    }
}

@Suite struct FailureKindTests {
    @Test func pathsAndNumbersAreLeftOut() {
        let first = Promises.Broken("\("a") is gone behind \(3)")
        let second = Promises.Broken("\("d/b") is gone behind \(4)")
        #expect(first.description == "a is gone behind 3")
        #expect(first.kind == second.kind)
        #expect(first.kind != Promises.Broken("\("a") is there behind \(3)").kind)
    }

    @Test func codesStay() {
        let kinds = [ResultCode.storageFailed, .busy].map { code in
            Promises.Broken("upload \(1) is refused: \(Failure(code, "\(code) of a/b"))").kind
        }
        #expect(kinds == ["upload … is refused: storageFailed", "upload … is refused: busy"])
    }

    @Test func otherErrorsHaveTheirOwn() {
        enum Other: Error { case some, with(Int) }
        let errors: [any Error] = [
            Failure(.busy, "a"), Failure(.storageFailed, "a"), SystemError(errno: EIO, call: "fsync"),
            SystemError(errno: EIO, call: "open"), Other.some, Other.with(1), Promises.Broken("busy"),
        ]
        #expect(Set(errors.map(Simulation.kind)).count == errors.count)
        #expect(Simulation.kind(of: Other.with(1)) == Simulation.kind(of: Other.with(2)))
        #expect(Simulation.kind(of: Failure(.busy, "a")) == Simulation.kind(of: Failure(.busy, "b")))
    }

    /// Without a power cut these steps fail, too, but for another cause.
    @Test func aShorterRunCountsOnlyWithTheSameKind() {
        let kinds: [Step.Kind] = [.begin, .kill, .publish, .rest, .powerCut, .wait, .kill]
        let steps = kinds.map { Step(kind: $0, a: 0, b: 0, c: 0) }
        let whole = RecordedCase(comments: [], seed: 1, mix: Mix(), steps: steps)
        let fewer = Simulation.shrink(whole, Promises.Broken("\("a") is gone").kind) { run in
            let kinds = run.steps.map(\.kind)
            guard kinds.contains(.publish) else { return nil }
            return kinds.contains(.powerCut) ? Promises.Broken("\("b") is gone") : Promises.Broken("it is refused")
        }
        #expect(fewer.steps.map(\.kind) == [.publish, .powerCut])
    }
}
