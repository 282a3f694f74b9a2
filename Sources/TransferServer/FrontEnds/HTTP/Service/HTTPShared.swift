/// What all connections of a server share on which HTTP is spoken.
final class HTTPShared: Sendable {
    let digests = ReprDigests()
    let news = UploadNews()
    let running: RunningUploads

    init(_ connections: ConnectionList) {
        running = RunningUploads(connections)
    }
}
