import TransferModel
import TransferProtocol
import TransferStoreTestSupport
import TransferTestSupport

@testable import TransferServer

/// Starts a server on what a crash has left, and repeats the whole conversation of the client.
struct CrashRetry: Sendable {
    let run: CrashRun
    let conversation: CrashConversation
    let directory: CrashedDirectory

    /// Files and directories after a conversation without failures.
    let wanted: [String: [UInt8]?]

    /// Number of effects that had taken place at the crash.
    let end: Int

    /// Uploads whose received blocks must all be kept.
    let kept: Set<UploadID>

    /// - Parameter recording: recording of the new server.
    func perform(_ recording: ServerRecording, seed: UInt64) async throws {
        recording.start(directory.recording)
        try await serving({ $0.loops = 1 }, in: directory.temporary, on: recording.foundations) { server in
            let visible = CrashedDirectory.visible(server.path(""))
            try expect("the start changes nothing", isSame(directory.visible, visible))
            let client = try server.greetedClient()
            try checkList(client)
            try checkLookup(client, on: server)
            try retry(server, recording)
            try checkEnd(client, on: server)
        }
        // Uploads acknowledged now must survive a power cut from the moment of their acknowledgement.
        guard let disk = recording.run?.disk else { return }
        var check = CrashCheck(disk, bound: 12, seed: seed)
        for index in disk.effects.indices.dropFirst(directory.recording.effects.count) {
            switch disk.effects[index] {
            case .acknowledge, .acknowledgeRemoval: check.check(at: index + 1)
            default: break
            }
        }
        try expect("\(check.violations) in the retry", check.violations.isEmpty)
    }

    private func expect(_ what: String, _ isSo: Bool) throws {
        if !isSo { throw RawClient.Failure(description: "not so: \(what)") }
    }

    private func isSame(_ some: [String: [UInt8]?], _ others: [String: [UInt8]?]) -> Bool {
        some.count == others.count
            && some.allSatisfy { path, content in
                switch (content, others[path]) {
                case (nil, .some(nil)): true
                case (let content?, let other??): content.isSame(as: other)
                default: false
                }
            }
    }

    private func has(_ server: TestServer, _ path: String?, _ content: [UInt8]?) -> Bool {
        guard let content, let found = path.flatMap({ server.content($0) }) else { return false }
        return found.isSame(as: content)
    }

    /// Requires that a client can list all files and that each of them is complete.
    private func checkList(_ client: RawClient) throws {
        var (listed, waiting): (Set<String>, [String]) = ([], [""])
        while let folder = waiting.popLast() {
            for entry in try client.list(folder).entries {
                let path = folder.isEmpty ? entry.name : "\(folder)/\(entry.name)"
                listed.insert(path)
                if entry.form == .directory { waiting.append(path) }
            }
        }
        try expect("\(listed.sorted()) are there", listed == Set(directory.visible.keys))
        let contents = conversation.uploads.map(\.content) + conversation.before.values
        for case (let path, let content?) in directory.visible {
            try expect("\(path) is whole", contents.contains { $0.isSame(as: content) })
        }
    }

    /// Requires that each upload reported as stored is stored, and that each acknowledged upload is reported.
    private func checkLookup(_ client: RawClient, on server: TestServer) throws {
        let uploads = conversation.uploads
        let known = try client.lookUp(uploads.map(\.id)).known
        for result in known {
            let upload = uploads.first { $0.id == result.id }
            try expect("\(result) is stored", has(server, result.storedPath, upload?.content))
        }
        for (id, result) in run.acknowledged(at: end) {
            guard let path = result.storedPath, let upload = uploads.first(where: { $0.id == id }),
                has(server, path, upload.content), !conversation.removes(path), !directory.linked.contains(path)
            else { continue }
            try expect("\(path) is known", known.contains { $0.id == id })
        }
    }

    private func retry(_ server: TestServer, _ recording: ServerRecording) throws {
        var talk = try CrashTalk(server, recording)
        let acknowledged = run.acknowledged(at: end)
        let removed = run.removed(at: end)
        talk.asksFirst = true
        talk.skippedRemovals = removed
        talk.skipped = Set(
            conversation.uploads.filter { upload in
                removed.contains { upload.path == $0 || upload.path.hasPrefix($0 + "/") }
            }.map(\.id))
        try talk.perform(conversation.steps)
        for (id, result) in talk.results {
            guard let earlier = acknowledged[id] else { continue }
            try expect(
                "\(result) is the same as \(earlier)",
                result.storedPath == earlier.storedPath && result.digest == earlier.digest)
        }
        try checkParts(talk, acknowledged)
    }

    /// Requires that the server still has the blocks that the ended process had received.
    private func checkParts(_ talk: CrashTalk, _ acknowledged: [UploadID: UploadResult]) throws {
        for case .staged(let id, let range) in run.notes(at: end) where kept.contains(id) && acknowledged[id] == nil {
            guard let upload = conversation.uploads.first(where: { $0.id == id }), let found = talk.found[id] else {
                throw RawClient.Failure(description: "nobody has asked about \(id)")
            }
            let index = range.lowerBound / Limits.blockSize
            try expect("block \(index) is kept", found[UInt64(index)] == upload.parted.blocks[index])
        }
    }

    /// Requires that all files are there, and none twice.
    private func checkEnd(_ client: RawClient, on server: TestServer) throws {
        let visible = CrashedDirectory.visible(server.path(""))
        try expect(
            "\(visible.keys.sorted()) are \(wanted.keys.sorted()), with their contents", isSame(visible, wanted))
    }
}

extension TestServer {
    /// - Returns: the path of a file or folder in the store.
    func path(_ name: String) -> String { directory.path("store") + (name.isEmpty ? "" : "/" + name) }
}
