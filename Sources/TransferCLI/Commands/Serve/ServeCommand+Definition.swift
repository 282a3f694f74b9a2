extension ServeCommand: ProgramCommand {
    static let definition = Command(
        name: "serve", summary: "Receive uploads into a directory.",
        description: [
            "Listens for uploads and stores them below a directory. An upload appears under its name "
                + "only when it is complete, matches its digest and is on disk; then it is acknowledged.",
            "Connections are encrypted with TLS 1.3. Without --cert the server uses a key of its own, "
                + "generated at the first start and kept in DIR/.transfer; clients identify it by the "
                + "fingerprint in the log.",
            "The same port also serves HTTP, for browsers, curl and other programs; --http off disables "
                + "that. Browsers receive a second certificate, whose fingerprint is also logged. See "
                + "docs/reference/http.md, also for use behind a proxy.",
            "The clients that may push are listed in DIR/.transfer: see 'transfer help access add'. On "
                + "this machine, the user who runs the server may. If the server listens on addresses of other "
                + "machines and no client there may push yet, it prints a command that authorises one.",
            "On SIGTERM or SIGINT it stops listening and lets running uploads finish; a second signal "
                + "ends it at once.",
            "Two processes run: if a signal kills the one that serves, the other one restarts it, and "
                + "clients continue. 'transfer status' shows such crashes, and DIR/.transfer/crashes has a "
                + "report on each.",
            "On SIGHUP it reads its configuration, --cert and --key again without dropping connections. "
                + "The log says what has changed and what needs a restart; if anything is wrong, nothing "
                + "changes.",
        ],
        flags: ServeFlags.all,
        examples: [
            .init(caption: "Receive into ./storage, for programs on this machine only", line: "transfer serve"),
            .init(
                caption: "Receive from other machines, on every address",
                line: "transfer serve --dir /srv/in --listen 0.0.0.0:5288 --listen '[::]:5288'"),
            .init(
                caption: "Receive from anyone, on a network that you trust",
                line: "transfer serve --open --listen 0.0.0.0:5288"),
            .init(
                caption: "Use a certificate that clients already trust",
                line: "transfer serve --cert chain.pem --key key.pem --listen 0.0.0.0:5288"),
            .init(
                caption: "Also accept a proxy on this machine, which says who its clients are",
                line: "transfer serve --http-plain unix:/run/http.sock --trusted-proxy unix"),
            .init(
                caption: "Log for a program to read, and refuse uploads above 4 GiB",
                line: "transfer serve --log-format json --max-upload 4G"),
        ],
        outcomes: [
            .init(.success, "it was stopped by a signal"), .init(.usage),
            .init(.fault, "it could not start or continue"),
        ])
}
