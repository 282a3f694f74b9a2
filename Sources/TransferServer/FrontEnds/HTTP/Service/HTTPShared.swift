/// What all connections of a server share on which HTTP is spoken.
final class HTTPShared: Sendable {
    let digests = ReprDigests()
}
