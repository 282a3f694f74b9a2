import Glibc
import Testing
import TransferModel
import TransferProtocol
import TransferSystem
import TransferTestSupport

/// Thousands of connections that hold on to everything they get. Meanwhile a real client pushes without being
/// disturbed.
@Suite(.ownThreads, .serialized) struct CrowdAttackTests {
    private static let count = AttackScale.count(200, full: 2000)

    /// Number of pushes of the real client during an attack.
    private static let pushes = AttackScale.count(3, full: 20)

    /// Seconds allowed for one push. Only a client that is kept out needs more.
    private static let patience = Int64(Program.patience)

    private func push(
        beside crowd: Crowd, to server: RunningServer, _ memory: ServerMemory,
        pushes: Int = Self.pushes, allowance: Int = ServerMemory.allowance
    ) throws {
        let files = try TemporaryDirectory()
        try writeFile(files.path("long"), randomBytes(9 << 20, seed: 1))
        var times: [Int64] = []
        for number in 0..<pushes {
            let start = monotonicNanoseconds()
            let push = try server.push([photo, files.path("long"), "--on-conflict", "overwrite"], to: "/\(number)")
            times.append((monotonicNanoseconds() - start) / 1_000_000)
            #expect(push.end == .exited(0), "\(push.errors)")
        }
        #expect(times.allSatisfy { $0 < Self.patience * 1000 }, "\(times)")
        let growth = try memory.growth
        #expect(growth < allowance, "\(growth >> 20) MiB")
        print("crowd of \(crowd.count): pushes took \(times) ms, \(growth >> 10) KiB more")
    }

    /// The connections are opened again when the server closes them, and half of them send a byte now and then.
    @Test func whoSaysNothingKeepsNobodyOut() throws {
        let server = try RunningServer()
        let memory = try ServerMemory(of: server)
        let crowd = try Crowd(Self.count, to: server.address)
        let hello = FrameBytes.of(.hello(Hello(agent: String(repeating: "a", count: 1000))))
        let nagging = try crowd.nag(hello)
        // In full scale, this lasts longer than the handshake timeout.
        try push(beside: crowd, to: server, memory, pushes: AttackScale.count(3, full: 200))
        nagging.stop()
        let warnings = server.program.errorText.split(separator: "\n").count { $0.contains(" warning ") }
        #expect(warnings < 400, "they are logged, but not all")
    }

    /// Each connection is in the middle of an upload and has sent half a frame. There are more connections than receive
    /// buffers.
    @Test(arguments: [true, false]) func halfFramesHoldNoBuffers(ofData: Bool) throws {
        let server = try RunningServer()
        let memory = try ServerMemory(of: server)
        let crowd = try Crowd(Self.count, to: server.address)
        for number in 0..<Self.count {
            var frames = FrameBytes.of(.hello(Hello(agent: "half")))
            let path = ofData ? "half-\(number)" : String(repeating: "a/", count: 60) + "half"
            frames += FrameBytes.of(.begin(Begin(id: .random(), path: path, size: 1 << 20, digest: .xxh128)))
            if ofData { frames += FrameBytes.data([UInt8](repeating: 1, count: 60_000)).prefix(30_000) }
            crowd.send(Array(ofData ? frames[...] : frames.dropLast(20)), from: number)
        }
        try push(beside: crowd, to: server, memory)
    }

    /// Clients ask for more than they read: results of failing uploads, each with a long message. At most 64 MiB of
    /// results may be pending for all of them together.
    @Test func whoeverReadsNothingCostsLittle() throws {
        let server = try RunningServer()
        let memory = try ServerMemory(of: server)
        let crowd = try Crowd(Self.count, to: server.address)
        let path = String(repeating: "../", count: 300) + "x"
        var frames = FrameBytes.of(.hello(Hello(agent: "deaf")))
        for _ in 0..<AttackScale.count(100, full: 1000) {
            frames += FrameBytes.of(.begin(Begin(id: .random(), path: path, size: 1, digest: .xxh128)), .abort)
        }
        for number in 0..<Self.count { crowd.send(frames, from: number) }
        try push(beside: crowd, to: server, memory, allowance: ServerMemory.allowance + (64 << 20))
    }
}
