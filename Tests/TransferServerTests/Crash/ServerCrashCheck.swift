import TransferPorts
import TransferModel
import TransferStoreTestSupport
import TransferSystem
import TransferTestSupport

@testable import TransferServer
@testable import TransferStore

/// Ends a recorded server, starts another one on what is left, and lets the client repeat its conversation.
struct ServerCrashCheck {
    let run: CrashRun
    let conversation: CrashConversation
    let fileSystem: FileSystem

    /// Files and directories after a conversation without failures.
    let wanted: [String: [UInt8]?]

    let seed: UInt64

    /// Number of states checked so far.
    private(set) var states = 0
    private(set) var problems: [String] = []

    init(
        _ run: CrashRun, of conversation: CrashConversation, on fileSystem: FileSystem, wanted: [String: [UInt8]?],
        seed: UInt64
    ) {
        (self.run, self.conversation, self.fileSystem) = (run, conversation, fileSystem)
        (self.wanted, self.seed) = (wanted, seed)
    }

    /// - Parameters:
    ///   - ends: numbers of effects after which the run ends.
    ///   - count: number of states after a power cut, for each end.
    mutating func check(_ ends: [Int], states count: Int) async {
        var random = SplitMix64(seed: seed)
        let model = CrashModel(recording: run.disk)
        for end in ends {
            let options = CrashOptions(model, at: end, &random)
            let catalogs = run.catalogs(at: end, after: .machine)
            for (number, choice) in options.some(count, &random).enumerated() {
                let catalog = [catalogs.lowerBound, catalogs.upperBound].dropFirst(number).first
                await check(
                    options.state(choice), catalog ?? .random(in: catalogs, using: &random), at: end, after: .machine)
            }
            let catalog = Int.random(in: run.catalogs(at: end, after: .process), using: &random)
            await check(run.disk.everything(at: end), catalog, at: end, after: .process)
        }
    }

    private mutating func check(_ state: DiskState, _ catalog: Int, at end: Int, after death: CrashRun.Death) async {
        states += 1
        do {
            if let problem = CrashCheck(run.disk, bound: 1, seed: seed).problem(state, at: end) {
                throw RawClient.Failure(description: problem)
            }
            let directory = try CrashedDirectory(run, state, catalog: catalog, at: end, after: death)
            let retry = CrashRetry(
                run: run, conversation: conversation, directory: directory, wanted: wanted, end: end,
                kept: death == .process ? parts(in: state) : [])
            try await retry.perform(ServerRecording(in: directory.temporary, on: fileSystem), seed: seed)
        } catch {
            problems.append(
                "\(conversation), \(death) after \(end) of \(run.disk.effects.count), catalog \(catalog): \(error)")
        }
    }

    /// IDs of uploads that can be resumed.
    private func parts(in state: DiskState) -> Set<UploadID> {
        Set(state.names.keys.compactMap { StagedFile.upload(ofPart: $0.name) })
    }
}
