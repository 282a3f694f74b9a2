import Testing
import TransferTestSupport

@Suite(.ownThreads) struct StandardInputTests {
    @Test(arguments: [0, 1, 65_536, 4 << 20, (9 << 20) + 3]) func arrivesWhole(_ size: Int) throws {
        let server = try RunningServer()
        let content = randomBytes(size, seed: UInt64(size))
        let push = try server.startPush(["-", "--name", "deep/in.bin", "--json"], Surroundings(input: .pipe))
        try push.write(content)
        push.closeInput()
        let finished = try Finished(push)
        #expect(finished.end == .exited(0), "\(finished.errors)")
        let object = try finished.object()
        #expect(object["source"] == "deep/in.bin" && object["storedPath"] == "deep/in.bin")
        #expect(object["size"] == "\(size)" && object["result"] == "committed" && object["durable"] == "true")
        #expect(object["digest"]?.hasPrefix(size > 4 << 20 ? "xxh128-tree-4m:" : "xxh128:") == true)
        #expect(try server.stored("deep/in.bin") == content)
    }

    @Test func inPiecesFromASlowWriter() throws {
        let server = try RunningServer()
        let push = try server.startPush(["-", "--name", "slow.txt"], Surroundings(input: .pipe))
        for piece in ["one", ", two", ", three"] { try push.write(piece.utf8) }
        #expect(server.visibleFiles.isEmpty)
        push.closeInput()
        #expect(try push.wait() == .exited(0))
        #expect(try server.stored("slow.txt") == Array("one, two, three".utf8))
    }

    @Test func fromAFile() throws {
        let server = try RunningServer()
        let push = try server.push(["-", "--name", "p.png", "--json"], Surroundings(input: .file(photo)))
        #expect(try push.object()["kind"] == "picture")
        #expect(try server.stored("p.png") == readFile(photo))
    }

    @Test func aDirectoryCannotBeRead() throws {
        let server = try RunningServer()
        let push = try server.push(["-", "--name", "p", "--json"], Surroundings(input: .file("/tmp")))
        #expect(push.end == .exited(1))
        #expect(try push.object()["result"] == "sourceUnreadable")
        #expect(server.visibleFiles.isEmpty)
    }
}
