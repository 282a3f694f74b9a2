extension ServeCommand: ProgramCommand {
    static let definition = Command(
        name: "serve", summary: "Receive uploads into a directory.",
        description: [
            "Listens for uploads and stores them below a directory. An upload appears under its name only when all of "
                + "it has arrived, matches its digest and is on disk; then it is acknowledged.",
            "Connections are encrypted with TLS 1.3. Without --cert the server shows a key of its own, made at the first "
                + "start and kept in DIR/.transfer; clients know it by the fingerprint that is logged.",
            "On the same port it speaks HTTP, for browsers, curl and other programs; --http off turns that off. Browsers are shown a "
                + "second certificate, whose fingerprint is logged, too. See docs/reference/http.md, also for use behind a proxy.",
            "Who may push is in DIR/.transfer: see 'transfer help access add'. From this machine the user who runs the server "
                + "may. If it listens to other machines and nobody there may push yet, a line is printed that lets one in.",
            "On SIGTERM or SIGINT it stops listening and gives running uploads time to finish; a second signal ends "
                + "it at once.",
            "Two processes run: when a signal ends the one that serves, the other one starts it again, and clients go on. "
                + "'transfer status' shows such ends, and DIR/.transfer/crashes has a report on each.",
            "On SIGHUP it reads its configuration and --cert and --key again, and drops no connection. The log says what has "
                + "changed and what takes a restart; when anything is wrong, all stays as it was.",
        ],
        flags: ServeFlags.all,
        examples: [
            .init(caption: "Receive into ./storage, for programs on this machine only", line: "transfer serve"),
            .init(
                caption: "Receive from other machines, on every address",
                line: "transfer serve --dir /srv/in --listen 0.0.0.0:5288 --listen '[::]:5288'"),
            .init(
                caption: "Receive from everybody on a network where you trust everybody",
                line: "transfer serve --open --listen 0.0.0.0:5288"),
            .init(
                caption: "Show a certificate that clients trust already",
                line: "transfer serve --cert chain.pem --key key.pem --listen 0.0.0.0:5288"),
            .init(
                caption: "Also be there for a proxy on this machine, which says who its clients are",
                line: "transfer serve --http-plain unix:/run/http.sock --trusted-proxy unix"),
            .init(
                caption: "Log for a program to read, and refuse uploads above 4 GiB",
                line: "transfer serve --log-format json --max-upload 4G"),
        ],
        outcomes: [
            .init(.success, "it stopped because it was told to"), .init(.usage),
            .init(.fault, "it could not start or could not go on"),
        ])
}
